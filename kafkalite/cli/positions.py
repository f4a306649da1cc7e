"""Places in a log as the command line names them: `earliest`, `latest`, an offset, or a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.whole_numbers import read_whole

if TYPE_CHECKING:
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

    from kafkalite.cli.log_ranges import LogRange

_WAYS = "earliest, latest, an offset, or a time: 2026-11-29T18:30, 10m (ago), @MILLISECONDS"
_AGO = re.compile(r"(?P<number>\d{1,19})(?P<unit>[smhd])", re.ASCII)
_MAX_INT64 = (1 << 63) - 1
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Edge(Enum):
    """An end of a log."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class AtOffset:
    """That very record."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of this time, in milliseconds since 1970, or of a later one."""

    timestamp_ms: int


Position = Edge | AtOffset | AtTime


def parse_position(text: str, option: str) -> Position:
    """`WrongUseError`, which names the option, for what cannot be meant. A time without a zone is
    local time."""
    if text in {edge.value for edge in Edge}:
        return Edge(text)
    offset = read_whole(text)
    if offset is not None:
        return AtOffset(offset)
    timestamp_ms = _parse_time(text)
    if timestamp_ms is None or not 0 <= timestamp_ms <= _MAX_INT64:
        raise WrongUseError(f"{option} {text}: expected {_WAYS}")
    return AtTime(timestamp_ms)


def _parse_time(text: str) -> int | None:
    """None: it is none."""
    if text.startswith("@"):
        return read_whole(text[1:])
    ago = _AGO.fullmatch(text)
    if ago is not None:
        from kafkalite.ports.clock import RealClock

        return RealClock().now_ms() - int(ago["number"]) * _UNITS_MS[ago["unit"]]
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def resolve(
    admin: KafkaAdminClient, position: Position, ranges: Mapping[TopicPartition, LogRange]
) -> dict[TopicPartition, int]:
    """The offset in each partition, within its range. After the last record of a time there is the
    end."""
    if isinstance(position, AtTime):
        asked = admin.list_partition_offsets(dict.fromkeys(ranges, position.timestamp_ms))
        return {
            each: asked[each].offset if asked[each].offset >= 0 else ranges[each].end_offset
            for each in ranges
        }
    return {each: _within(position, log) for each, log in ranges.items()}


def _within(position: Edge | AtOffset, log: LogRange) -> int:
    match position:
        case Edge.EARLIEST:
            return log.start_offset
        case Edge.LATEST:
            return log.end_offset
        case AtOffset(offset):
            return log.nearest(offset)

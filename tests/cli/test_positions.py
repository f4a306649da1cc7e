"""Places in a log, as people name them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.positions import AtOffset, AtTime, Edge, Position, parse_position
from kafkalite.ports.clock import RealClock


def in_ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("earliest", Edge.EARLIEST),
        ("latest", Edge.LATEST),
        ("0", AtOffset(0)),
        ("20261129", AtOffset(20261129)),
        ("@1700000000123", AtTime(1700000000123)),
        ("2026-11-29T18:30:00Z", AtTime(in_ms(datetime(2026, 11, 29, 18, 30, tzinfo=UTC)))),
        (
            "2026-11-29T18:30:00.250+02:00",
            AtTime(in_ms(datetime(2026, 11, 29, 16, 30, tzinfo=UTC)) + 250),
        ),
        ("2026-11-29", AtTime(in_ms(datetime(2026, 11, 29)))),  # noqa: DTZ001  # It is local time.
    ],
)
def test_a_place_is_read(text: str, meant: Position) -> None:
    assert parse_position(text, "--from") == meant


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90s", timedelta(seconds=90)),
        ("10m", timedelta(minutes=10)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
    ],
)
def test_a_length_of_time_counts_back_from_now(text: str, length: timedelta) -> None:
    before_ms = RealClock().now_ms()
    position = parse_position(text, "--from")
    after_ms = RealClock().now_ms()
    assert isinstance(position, AtTime)
    ago_ms = int(length.total_seconds() * 1000)
    assert before_ms - ago_ms <= position.timestamp_ms <= after_ms - ago_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "first",
        "-1",
        "@",
        "@x",
        "10y",
        "2026-13-01",
        "٣",
        "1.5",
        "99999-01-01",
        "@9223372036854775808",
        "99999999d",
        "1969-01-01",
    ],
)
def test_what_cannot_be_meant_is_told_with_what_can(text: str) -> None:
    with pytest.raises(WrongUseError) as refused:
        parse_position(text, "--to")
    line = str(refused.value)
    assert line.startswith(f"--to {text}: expected earliest, latest, an offset, or a time")

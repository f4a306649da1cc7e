"""Folders of partitions that Apache Kafka wrote, and what its dump tool says is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import ZERO_UUID, Offset, TimestampMs

ROOT = Path(__file__).parent.parent / "data" / "log-dirs"
NAMES = sorted(path.name for path in ROOT.iterdir() if path.is_dir())
NOW = TimestampMs(1_700_000_060_000)
"""When the golden producers' states had not expired."""
INDEX_INTERVAL_BYTES = {"segments-0": 1024, "truncated-0": 1024}
LOG_START_OFFSETS = {"truncated-0": Offset(250)}

_FIELD = re.compile(r"(\w+): (OptionalLong\[\d+\]|OptionalLong\.empty|\[[^\]]*\]|\S+)")


class Dumped(NamedTuple):
    """One file of a folder, and the fields of each line that the tool printed of it."""

    file: str
    lines: list[dict[str, str]]


def golden_bytes(name: str, file: str) -> bytes:
    return (ROOT / name / file).read_bytes()


def golden_files(name: str, suffix: str) -> list[str]:
    return sorted(path.name for path in (ROOT / name).iterdir() if path.name.endswith(suffix))


def memory_copy(name: str) -> MemoryFiles:
    files = MemoryFiles()
    files.make_folder(name)
    for path in (ROOT / name).iterdir():
        files.replace(f"{name}/{path.name}", path.read_bytes())
    return files


def open_golden(name: str, *, clean: bool, files: MemoryFiles | None = None) -> PartitionLog:
    compacted = name.startswith(("compacted", "__"))
    return open_log(
        memory_copy(name) if files is None else files,
        name,
        config=TopicConfig(
            index_interval_bytes=INDEX_INTERVAL_BYTES.get(name, 4096),
            cleanup_policy=("compact",) if compacted else ("delete",),
        ),
        topic_id=ZERO_UUID,
        now=NOW,
        clean=clean,
        log_start_offset=LOG_START_OFFSETS.get(name, Offset(0)),
    )


def dumped(name: str, suffix: str) -> Iterator[Dumped]:
    """What the tool printed of each file with that suffix."""
    found: Dumped | None = None
    for line in (ROOT / f"{name}.txt").read_text().splitlines():
        if line.startswith("Dumping "):
            if found is not None:
                yield found
            file = line.rpartition("/")[2]
            found = Dumped(file, []) if file.endswith(suffix) else None
        elif line.startswith(("Non-consecutive", "Log starting", "  ")):
            continue
        elif found is not None:
            fields = dict(_FIELD.findall(line))
            found.lines.append(fields | {"is_record": "yes"} if line.startswith("|") else fields)
    if found is not None:
        yield found

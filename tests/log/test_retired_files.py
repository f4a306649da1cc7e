"""What a log has let go of is told, whichever of the renames a disk refuses: else nobody removes it
before the next start."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from kafkalite.log.log_cuts import delete_records
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import delete_old_segments
from kafkalite.log.retired_files import DELETED_SUFFIX, RetiredFiles, retire
from kafkalite.types import Offset
from tests.log.compaction_fixtures import CONFIG, LATER, cleaning, run
from tests.log.log_fixtures import FOLDER, NOW, append, idempotent, open_log
from tests.log.refusing_disk import RefusingRenames

SIZE = len(idempotent(0))
SMALL = CONFIG._replace(segment_bytes=2 * SIZE, index_interval_bytes=1)


def deleted(files: RefusingRenames) -> list[str]:
    return [name for name in files.list(FOLDER) if name.endswith(DELETED_SUFFIX)]


def by_retention(files: RefusingRenames, log: PartitionLog) -> list[RetiredFiles]:
    log.configure(log.config._replace(cleanup_policy=("delete",), retention_bytes=3 * SIZE))
    if log.log_start_offset == 0:
        delete_records(log, Offset(2))  # One rule after the other takes some.
    found = delete_old_segments(log, high_watermark=log.end_offset, now=NOW)
    return [each.retired for each in found]


def by_compaction(files: RefusingRenames, log: PartitionLog) -> list[RetiredFiles]:
    found: list[RetiredFiles] = []
    log.configure(CONFIG)  # Several become one, and snapshots go with them.
    with suppress(OSError):
        run(cleaning(files, log, LATER, on_retired=found.append))
    return found


Way = Callable[[RefusingRenames, PartitionLog], list[RetiredFiles]]


@pytest.mark.parametrize("way", [by_retention, by_compaction])
def test_all_that_was_renamed_is_told(way: Way) -> None:
    for at in count():
        files = RefusingRenames()
        log = open_log(files, SMALL)
        for sequence in range(9):
            append(log, idempotent(sequence))
        files.left = at
        found: list[RetiredFiles] = []
        with suppress(OSError):
            found += way(files, log)
        was_refused = files.has_refused
        assert sorted(path for each in found for path in each.paths) == [
            f"{FOLDER}/{name}" for name in deleted(files)
        ]
        files.left = None
        found += way(files, log)
        for each in found:
            each.remove()
        assert deleted(files) == []
        if not was_refused:
            assert at > 5
            return


def test_the_first_that_is_refused_is_an_error() -> None:
    files = RefusingRenames()
    for name in "abc":
        files.replace(name, b"")
    files.left = 1
    assert retire(files, "abc") == ["a.deleted"]
    files.left = 0
    with pytest.raises(OSError, match="No space"):
        retire(files, "abc")
    assert retire(files, "abc") == ["b.deleted", "c.deleted"]

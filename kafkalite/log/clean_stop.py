"""A clean stop: every log closed and on the disk, and then that put on record.

Waiting for the disk is most of it, and a disk that is asked by many at once answers sooner: the
waits come in rounds, whose parts may run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from errno import EIO
from functools import partial

from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.files import Files
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import TopicPartition

Round = list[Callable[[], None]]
"""Parts that may run side by side, in workers: none raises, none touches what another one does."""

_NAMES_TOLD = 3
"""Of what could not be written; the rest is counted."""


class Refusals:
    """What a disk did not take, by the name that people know it by; the first error of each."""

    def __init__(self) -> None:
        self._errors: dict[str, Exception] = {}

    def __bool__(self) -> bool:
        return bool(self._errors)

    def __contains__(self, name: str) -> bool:
        return name in self._errors

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Go on after an error, and remember it."""
        try:
            yield
        except (OSError, CorruptRecordError, InvariantError) as error:
            self._errors.setdefault(name, error)

    def tell(self, location: str) -> None:
        """`OSError` with the first error and the first names, if there are any."""
        if not self._errors:
            return
        first = next(iter(self._errors.values()))
        some = ", ".join(list(self._errors)[:_NAMES_TOLD])
        more = len(self._errors) - _NAMES_TOLD
        names = f"{some} and {more} more" if more > 0 else some
        code, reason = (first.errno, first.strerror) if isinstance(first, OSError) else (EIO, first)
        raise OSError(code, f"{reason}; not written: {names}", location)


def close_logs(
    files: Files, logs: Mapping[TopicPartition, PartitionLog], refusals: Refusals
) -> Iterator[Round]:
    """Close each, and have it on the disk: its files before its folder. Their recovery points have
    moved at the end. The folder that all are in is the caller's to sync, the last of all.

    A log that never had a record needs none of it: lost, it is made again.
    """
    unsynced = {}
    for key, log in logs.items():
        with refusals.of(str(key)):
            log.close()
            if log.end_offset > 0:
                unsynced[key] = log.folder.unsynced(log.recovery_point)

    def sync(key: TopicPartition, paths: tuple[str, ...], one: Callable[[str], None]) -> None:
        with refusals.of(str(key)):
            for path in paths:
                one(path)

    yield [partial(sync, key, each.files, files.sync_file) for key, each in unsynced.items()]
    yield [
        partial(sync, key, each.folders, files.sync_folder)
        for key, each in unsynced.items()
        if each.folders and str(key) not in refusals
    ]
    for key in unsynced:
        if str(key) not in refusals:
            logs[key].synced()

"""A log folder as one process takes it: whose it is, how it was left, and how it is given back.

    meta.properties          whose folder it is (meta_properties.py)
    .lock                    held while a broker runs on it
    .kafka_cleanshutdown     written last of all at a clean stop, removed first at a start

An empty folder becomes a log folder; what else has something in it is left alone.
"""

from __future__ import annotations

import json

from kafkalite.log.checkpoints import CLEANER_OFFSETS, read_file, write_offsets
from kafkalite.log.files import Files, Lock
from kafkalite.log.meta_properties import META_PROPERTIES, LogDirectoryError, Meta, claim
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

_GIT_IGNORE = ".gitignore"
_OF_A_FIRST_START = frozenset((_GIT_IGNORE, LOCK, f"{META_PROPERTIES}.tmp", "lost+found"))
"""What a first start that was cut short may leave, and what a new disk has."""


class ClaimedFolder:
    """The folder at the root of `files`, from `take` until `release`."""

    __slots__ = (
        "_clean_record",
        "_files",
        "_found",
        "_is_new",
        "_lock",
        "broker_epoch",
        "meta",
        "was_clean",
    )

    def __init__(
        self, files: Files, lock: Lock, meta: Meta, *, is_new: bool, found: frozenset[str] | None
    ) -> None:
        """`is_new`: this is its first start, and `found` was in it; None: there was no folder."""
        self._files = files
        self._lock = lock
        self._is_new = is_new
        self._found = found
        self.meta = meta
        self._clean_record = self._take_clean_record()
        self.was_clean = self._clean_record is not None
        """Whether the last stop was a clean one."""
        self.broker_epoch = _broker_epoch(self._clean_record)
        """The broker's epoch when it last stopped cleanly, else -1."""

    @classmethod
    def take(cls, files: Files, location: str, new: Meta) -> ClaimedFolder:
        """Made when missing; `location` names it to people, `new` is for one that has no
        `meta.properties` yet. `LogDirectoryError` when another process has it, it belongs to
        another node, or it has something in it and is no log folder."""
        is_new = not files.exists(META_PROPERTIES)
        found = frozenset(files.list("")) if files.exists("") else None
        if is_new and found:
            _refuse_others(found, location)
        files.make_folder("")
        try:
            lock = files.lock(LOCK)
        except BlockingIOError as error:
            raise LogDirectoryError(
                f"the log folder {location} is in use: another broker holds {LOCK} in it"
            ) from error
        try:
            if is_new:
                files.replace(_GIT_IGNORE, b"*\n", sync=False)
            meta = claim(files, location, new)
            return cls(files, lock, meta, is_new=is_new, found=found)
        except BaseException:
            lock.release()
            raise

    def _take_clean_record(self) -> bytes | None:
        """Read the mark of a clean stop and remove it for good: from now on a crash is a crash."""
        data = read_file(self._files, CLEAN_SHUTDOWN)
        if data is not None:
            self._files.remove(CLEAN_SHUTDOWN)
            self._files.sync_folder("")
        return data

    def record_clean_stop(self, broker_epoch: BrokerEpoch) -> None:
        """The last thing of a stop, when all else is on the disk."""
        if not self._files.exists(CLEANER_OFFSETS):
            write_offsets(self._files, CLEANER_OFFSETS, {})
        record = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._files.replace(CLEAN_SHUTDOWN, record.encode())

    def release(self) -> None:
        """Another process may take it."""
        self._lock.release()

    def undo(self) -> None:
        """Before `release`, when a start has failed and no log was opened: leave the place as it
        was found, the mark of a clean stop included."""
        if self._clean_record is not None:
            self._files.replace(CLEAN_SHUTDOWN, self._clean_record)
        if not self._is_new:
            return
        if self._found is None:
            self._files.remove_folder("")
            return
        for name in self._files.list(""):
            if name not in self._found:
                if self._files.is_folder(name):
                    self._files.remove_folder(name)
                else:
                    self._files.remove(name)


def _refuse_others(found: frozenset[str], location: str) -> None:
    others = found - _OF_A_FIRST_START
    if others:
        some = min(others, key=lambda name: (name.startswith("."), name))
        raise LogDirectoryError(
            f"the folder {location} is not empty ({some}) and has no "
            f"{META_PROPERTIES}: only an empty folder can become a log folder"
        )


def _broker_epoch(clean_record: bytes | None) -> BrokerEpoch:
    if clean_record is None:
        return NO_BROKER_EPOCH
    try:
        return BrokerEpoch(int(json.loads(clean_record)["brokerEpoch"]))
    except (ValueError, KeyError, TypeError):
        return NO_BROKER_EPOCH  # Older Kafka leaves the file empty.

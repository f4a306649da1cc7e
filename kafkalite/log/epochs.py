"""Which leader epoch began at which offset: `leader-epoch-checkpoint` (KIP-101).

Followers and consumers ask where an epoch ended, to find where their log and the leader's part. The
file is Kafka's text: version 0, the number of lines, then `epoch start-offset` lines, ascending in
both.

Kafka differs: it syncs each change of the file, one after the other, before the log goes on; a new
leader of 10,000 partitions would wait 40 s for that. Here the log's next sync does it, and what a
loss of power takes of the file is found again in the batches (found_epochs.py).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import format_lines, parse_lines, read_file
from kafkalite.log.files import Files
from kafkalite.types import NO_LEADER_EPOCH, LeaderEpoch, Offset

FILE_NAME = "leader-epoch-checkpoint"
_MAX_EPOCH, _MAX_OFFSET = 2**31 - 1, 2**63 - 1


class EpochStart(NamedTuple):
    """The first offset that a leader of that epoch appended."""

    epoch: LeaderEpoch
    start_offset: Offset


class EpochEnd(NamedTuple):
    """The largest known epoch at or below the one asked for, and where it ended (exclusive)."""

    epoch: LeaderEpoch
    end_offset: Offset


def parse_epochs(data: bytes) -> list[EpochStart]:
    """The file's content; `CorruptRecordError` for what it cannot have, or has but a part of."""
    if data and not data.endswith(b"\n"):
        raise CorruptRecordError("the last line of the leader epochs has no end")
    try:
        starts = [
            EpochStart(LeaderEpoch(int(epoch)), Offset(int(start)))
            for epoch, start in parse_lines(data, fields=2)
        ]
    except ValueError as error:
        raise CorruptRecordError(f"not leader epochs: {error}") from error
    for before, after in pairwise(starts):
        if not (before.epoch < after.epoch and before.start_offset < after.start_offset):
            raise CorruptRecordError(f"leader epoch {after.epoch} does not come after its last one")
    if starts and (starts[0].epoch < 0 or starts[0].start_offset < 0):
        raise CorruptRecordError("a leader epoch below 0")
    if starts and (starts[-1].epoch > _MAX_EPOCH or starts[-1].start_offset > _MAX_OFFSET):
        raise CorruptRecordError("a leader epoch above all that there can be")
    return starts


class LeaderEpochs:
    """The epochs of one log, oldest first; each change is written to the file.

    Not synced: `sync()` on the log makes it durable.
    """

    __slots__ = ("_files", "_path", "_starts", "is_kept", "is_lost", "is_synced", "latest")

    def __init__(self, files: Files, folder: str, *, is_kept: bool = True) -> None:
        """None are known yet. `is_kept`: there is a folder to write the file to."""
        self._files = files
        self.is_kept = is_kept
        self._path = f"{folder}/{FILE_NAME}"
        self._starts: list[EpochStart] = []
        self.is_lost = False
        """Whether the file does not tell them, so that the batches are to: see `become`."""
        self.latest = NO_LEADER_EPOCH
        """The newest epoch, -1 when there is none. Append looks at it for each batch."""
        self.is_synced = True
        """Whether no change was written that could not survive a loss of power."""

    @classmethod
    def load(cls, files: Files, folder: str) -> LeaderEpochs:
        """Read the file. They are lost if it is missing, damaged, or has nothing in it, not even
        that there are none: so a loss of power may leave it, or Kafka in a log without records."""
        epochs = cls(files, folder)
        data = read_file(files, epochs._path)
        try:
            epochs._hold(parse_epochs(data or b""))
            epochs.is_lost = not data
        except CorruptRecordError:
            epochs.is_lost = True
        return epochs

    def become(self, starts: list[EpochStart]) -> None:
        """These are what the log has. Written only now, and at once: half of them in the file would
        be believed."""
        if self.is_lost or starts != self._starts:
            self._change(starts)
            self.is_lost = False

    @property
    def starts(self) -> tuple[EpochStart, ...]:
        """All that is known, oldest first."""
        return tuple(self._starts)

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> None:
        """Note that `epoch` began at `start_offset`; an epoch already known is left alone.

        Entries that contradict it (a newer epoch, or one that starts later) are dropped: the log
        was truncated under them.
        """
        if epoch < 0 or (self._starts and epoch == self.latest):
            return
        kept = [
            start
            for start in self._starts
            if start.epoch < epoch and start.start_offset < start_offset
        ]
        self._change([*kept, EpochStart(epoch, start_offset)])

    def truncate_from_end(self, end_offset: Offset) -> None:
        """Forget epochs that begin at or above `end_offset`."""
        if self._starts and self._starts[-1].start_offset >= end_offset:
            self._change(self._below(end_offset))

    def cut(self, end_offset: Offset) -> None:
        """As `truncate_from_end`, in memory alone: the file is to be `save`d before more comes."""
        self._hold(self._below(end_offset))

    def _below(self, end_offset: Offset) -> list[EpochStart]:
        return [start for start in self._starts if start.start_offset < end_offset]

    def truncate_from_start(self, start_offset: Offset) -> None:
        """Forget what ended below `start_offset`; the epoch that spans it begins there now."""
        below = [start for start in self._starts if start.start_offset <= start_offset]
        if not below or below == [EpochStart(below[-1].epoch, start_offset)]:
            return
        spanning = EpochStart(below[-1].epoch, start_offset)
        self._change([spanning, *self._starts[len(below) :]])

    def epoch_at(self, offset: Offset) -> LeaderEpoch:
        """The epoch whose leader appended `offset`; -1 when unknown."""
        for start in reversed(self._starts):
            if start.start_offset <= offset:
                return start.epoch
        return NO_LEADER_EPOCH

    def end_of(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEnd | None:
        """Where `epoch` ended; None when it is newer than all that is known, or nothing is.

        For an epoch below the oldest known one: that epoch, ending where the oldest begins.
        """
        if epoch < 0 or not self._starts or epoch > self.latest:
            return None
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        known = epoch
        for start in self._starts:
            if start.epoch > epoch:
                return EpochEnd(known, start.start_offset)
            known = start.epoch
        return None

    def content(self) -> bytes:
        """What the file is to have."""
        return format_lines([f"{start.epoch} {start.start_offset}" for start in self._starts])

    def save(self, *, sync: bool) -> None:
        """Write the file, if there is a folder for it."""
        self.is_synced = False
        if self.is_kept:
            self._files.replace(self._path, self.content(), sync=sync)
            self.is_synced = sync

    def unsynced(self) -> list[str]:
        """The file, while the disk may not have its bytes."""
        return [] if self.is_synced else [self._path]

    def _change(self, starts: list[EpochStart]) -> None:
        """Hold `starts` once they are in the file; `OSError` leaves what was."""
        before, self._starts = self._starts, starts
        try:
            self.save(sync=False)
        except OSError:
            self._starts = before
            raise
        self._hold(starts)

    def _hold(self, starts: list[EpochStart]) -> None:
        self._starts = starts
        self.latest = starts[-1].epoch if starts else NO_LEADER_EPOCH

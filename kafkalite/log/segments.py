"""The segments of one log, oldest first: which holds an offset, what was aborted among them, and
which are dropped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.retired_files import unless_some
from kafkalite.log.scan import BatchRange
from kafkalite.log.segment import Segment
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.types import Offset


class Found(NamedTuple):
    """A batch, the segment it stands in, and that segment's place in the list."""

    segment: Segment
    at: int
    batch: BatchRange


class SegmentList:
    """At least one segment, but for the moment between `drop_above` and `add`."""

    __slots__ = ("_bases", "_room", "_segments", "active", "cuts")

    def __init__(self, segments: list[Segment], room: LoadedIndexes) -> None:
        """`room`: for their indexes."""
        self._room = room
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self.active = segments[-1]
        """The last one, which alone is appended to."""
        self.cuts = 0
        """How often records were taken from the end: other ones may have come in their place."""
        for segment in segments:
            segment.held.share(room, grows=segment is self.active)

    @property
    def all(self) -> tuple[Segment, ...]:
        """Oldest first."""
        return tuple(self._segments)

    @property
    def first_offset(self) -> Offset:
        """The base offset of the oldest."""
        return self._bases[0]

    @property
    def base_offsets(self) -> frozenset[Offset]:
        """Of all segments."""
        return frozenset(self._bases)

    def add(self, segment: Segment) -> None:
        """Make `segment` the active one. It begins above all others."""
        assert not self._bases or segment.base_offset > self._bases[-1], "segments ascend"
        if self._segments:
            self.active.held.share(self._room, grows=False)
        segment.held.share(self._room, grows=True)
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def find(self, offset: Offset) -> Found | None:
        """The first batch whose last offset is at or above `offset`; None when all end below.

        Compaction may have taken the end of the segment in question: a later one goes on then.
        """
        segment = self.active
        if offset >= segment.base_offset:
            batch = segment.find(offset)
            return None if batch is None else Found(segment, len(self._bases) - 1, batch)
        for index in range(max(bisect_right(self._bases, offset) - 1, 0), len(self._bases)):
            segment = self._segments[index]
            batch = segment.find(offset)
            if batch is not None:
                return Found(segment, index, batch)
        return None

    def end_below(self, at: int, offset: Offset) -> int:
        """Where in that segment's file the batches below `offset` (exclusive) end."""
        segment = self._segments[at]
        if at + 1 < len(self._bases) and self._bases[at + 1] <= offset:
            return segment.size
        batch = segment.find(offset)
        return segment.size if batch is None else batch.position

    def aborted(
        self, offset: Offset, at: int, end_position: int, end_offset: Offset
    ) -> tuple[AbortedTransaction, ...]:
        """Those that a read from `offset` up to that position of that segment may meet, in a log of
        that end; where it ends is known no better than the offset index tells, as in Kafka."""
        segments = self._segments
        end = segments[at].offset_at(end_position)
        if end is None:
            end = segments[at + 1].base_offset if at + 1 < len(segments) else end_offset
        found = []
        for segment in islice(segments, at, None):
            for aborted in segment.aborted_since(offset):
                if aborted.first_offset < end:
                    found.append(aborted)
                if aborted.last_stable_offset >= end:
                    return tuple(found)
        return tuple(found)

    def retire_below(self, offset: Offset) -> list[str]:
        """Take out the segments that end at or below `offset`, but never the active one, and rename
        their files: the new names, oldest first.

        The one whose `.log` a disk refuses to rename stays, and so do those after it; `OSError` if
        it is the oldest.
        """
        renamed: list[str] = []
        with unless_some(renamed):
            while len(self._bases) > 1 and self._bases[1] <= offset:
                renamed += self._segments[0].files.retire()
                self._segments[0].held.leave()
                del self._segments[0], self._bases[0]
        return renamed

    def has_closed(self, neighbours: Sequence[Segment]) -> bool:
        """Whether these still stand here one after the other, below the active one."""
        if not neighbours:
            return True
        at = bisect_left(self._bases, neighbours[0].base_offset)
        held = self._segments[at : at + len(neighbours)]
        return held == list(neighbours) and held[-1] is not self.active

    def replace(self, neighbours: Sequence[Segment], new: Segment) -> None:
        """Have `new` where these were, all of them closed. It begins where the first one does."""
        assert self.has_closed(neighbours), "only what is here is replaced"
        assert new.base_offset == neighbours[0].base_offset, "segments ascend"
        at = bisect_left(self._bases, new.base_offset)
        for segment in neighbours:
            segment.held.leave()
        new.held.share(self._room, grows=False)
        self._segments[at : at + len(neighbours)] = [new]
        self._bases[at : at + len(neighbours)] = [new.base_offset]

    def last_at(self, offset: Offset) -> Segment | None:
        """The last segment that begins at or below `offset`; None when none does."""
        at = bisect_right(self._bases, offset)
        return self._segments[at - 1] if at else None

    def drop_above(self, offset: Offset) -> None:
        """The log is cut at `offset`: have no segments that begin above, while their files are
        there as before."""
        self.cuts += 1
        while self._segments and self._bases[-1] > offset:
            self._bases.pop()
            lost = self._segments.pop()
            lost.held.leave()
            lost.close()
        if self._segments:
            self.active = self._segments[-1]
            self.active.held.share(self._room, grows=True)

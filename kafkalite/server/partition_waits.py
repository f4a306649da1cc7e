"""Who waits at a partition: consumers and followers for records, producers until theirs are
committed, and others until no replica has what was deleted.

Consumers see what is below the high watermark, followers all that the log has.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.log.partition_log import PartitionLog
from kafkalite.replica.fetch_session import FetchWatcher
from kafkalite.server.purgatory import CommitWait
from kafkalite.types import Offset


class Followers:
    """Who waits at a partition for what followers do, or waits as one."""

    __slots__ = ("commits", "fetches", "topic")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.fetches: dict[FetchWatcher, None] = {}
        """Followers' fetches and sessions, as consumers' are kept by the partition itself."""
        self.commits: dict[CommitWait, None] = {}
        """Who waits for the low watermark: until no replica has what was deleted."""


class PartitionWaits:
    """A partition, as whoever waits for it knows it."""

    __slots__ = (
        "_follower_fetches",
        "_stable_to",
        "_unstable_bytes",
        "commits",
        "fetches",
        "followers",
        "on_committed",
        "topic",
    )

    log: PartitionLog

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.fetches: dict[FetchWatcher, None] = {}
        """Fetches that wait, and sessions that have nothing to tell of it: consumers'."""
        self.followers = Followers(topic)
        self._follower_fetches = self.followers.fetches
        self.commits: dict[CommitWait, None] = {}
        """Produces that wait for the high watermark."""
        self._stable_to = Offset(0)
        self._unstable_bytes = 0
        """Behind the last stable offset: what readers of what is committed still wait for."""
        self.on_committed: Callable[[Offset], None] | None = None
        """Told of every high watermark: a coordinator that keeps its records here."""

    @property
    def last_stable_offset(self) -> Offset:
        """Below it (exclusive) every record's transaction has ended."""
        raise NotImplementedError

    def _wake_fetches(self) -> None:
        for fetch in (*self.fetches, *self.followers.fetches):
            fetch.wake()

    def wake_all(self) -> None:
        """Answer everyone who waits here with what is true now."""
        self._wake_fetches()
        for commit in list(self.commits):
            commit.resolved(self)
        for commit in list(self.followers.commits):
            commit.resolved(self.followers)

    def log_start_moved(self) -> None:
        """Records were deleted: fetch sessions have that to tell, followers at once. It ends no
        consumer's wait."""
        for fetch in list(self.fetches):
            fetch.look_again()
        for fetch in list(self.followers.fetches):
            fetch.wake()

    def _tell_followers(self, size_bytes: int) -> None:
        for fetch in list(self.followers.fetches):
            fetch.more(size_bytes, size_bytes)

    def _high_watermark_moved(self, high_watermark: Offset, size_bytes: int) -> None:
        stable_bytes = size_bytes
        if self._unstable_bytes or self.log.producers.has_transactions:
            stable_bytes = self._stable_bytes(high_watermark, size_bytes)
        if self.fetches:
            for fetch in list(self.fetches):
                fetch.more(size_bytes, stable_bytes)
        if self.followers.fetches:  # A follower is told with its next records.
            for fetch in list(self.followers.fetches):
                fetch.look_again()
        if self.commits:
            for commit in list(self.commits):
                commit.committed(self, high_watermark)
        if self.on_committed is not None:
            self.on_committed(high_watermark)

    def _stable_bytes(self, high_watermark: Offset, size_bytes: int) -> int:
        """How much more readers of what is committed may see. Where one transaction of several has
        ended it is not known how much, and they look at all there is."""
        stable_to = self.last_stable_offset
        before, self._stable_to = self._stable_to, stable_to
        stable_bytes = 0 if stable_to == before else self._unstable_bytes
        self._unstable_bytes += size_bytes
        if stable_to == high_watermark:
            stable_bytes, self._unstable_bytes = self._unstable_bytes, 0
        return stable_bytes

"""How fast replicas that are to be slowed down may be copied (KIP-73).

A stepping core: bytes are counted by the second, over the last eleven. While the rate over these is
above the limit, nothing more goes.

Source: Kafka's `ReplicationQuotaManager`, `ReplicaManager.shouldLeaderThrottle` and `SimpleRate`,
with its defaults (`replication.quota.window.num` and `replication.quota.window.size.seconds`).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kafkalite.types import TimestampMs

_SAMPLES: Final = 11
_SAMPLE_MS: Final = 1_000


class ReplicationThrottle:
    """Of what one broker sends to followers, or of what it fetches as one."""

    __slots__ = ("_samples", "_total_bytes", "limit")

    def __init__(self) -> None:
        self.limit: int | None = None
        """Bytes a second; None: there is none. May be replaced."""
        self._samples: deque[list[int]] = deque()
        """When each began, and its bytes; oldest first."""
        self._total_bytes = 0

    def record(self, size_bytes: int, now: TimestampMs) -> None:
        """So much went just now."""
        self._forget(now)
        samples = self._samples
        if not samples or now - samples[-1][0] >= _SAMPLE_MS:
            samples.append([now, 0])
        samples[-1][1] += size_bytes
        self._total_bytes += size_bytes

    def is_exceeded(self, now: TimestampMs) -> bool:
        """Whether to wait before more goes."""
        if self.limit is None:
            return False
        self._forget(now)
        if not self._samples:
            return False
        elapsed_ms = max(now - self._samples[0][0], _SAMPLE_MS)
        return self._total_bytes * 1_000 > self.limit * elapsed_ms

    def must_wait(self, now: TimestampMs, *, is_in_sync: bool) -> bool:
        """Whether a follower is to have nothing for now. Those in sync are never slowed down."""
        return not is_in_sync and self.is_exceeded(now)

    def _forget(self, now: TimestampMs) -> None:
        samples = self._samples
        if samples and now < samples[-1][0]:  # The clock was set back.
            samples.clear()
            self._total_bytes = 0
        while samples and now - samples[0][0] >= _SAMPLES * _SAMPLE_MS:
            self._total_bytes -= samples.popleft()[1]

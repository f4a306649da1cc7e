"""How long a metadata log may get, and when a snapshot of it is due.

Source: Kafka's `MetadataLogConfig`, `SnapshotGenerator`.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.types import TimestampMs

_MOST_IN_MEMORY = 1 << 22


class MetadataLogLimits(NamedTuple):
    """How long a metadata log may get, by Kafka's settings of these names."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    snapshot_bytes: int = 20_971_520
    """Of records, after which a snapshot is due; `metadata.log.max.record.bytes.between.snapshots`.
    """
    snapshot_interval_ms: int = 3_600_000
    """After which one is due of what has changed; 0: never.
    `metadata.log.max.snapshot.interval.ms`."""
    retention_bytes: int = 104_857_600
    """Negative: no limit."""
    retention_ms: int = 604_800_000
    """Negative: no limit."""

    @classmethod
    def of(cls, config: BrokerConfig) -> MetadataLogLimits:
        """Those that the settings say."""
        return cls(
            config.metadata_log_segment_bytes,
            config.metadata_log_segment_ms,
            config.metadata_log_max_record_bytes_between_snapshots,
            config.metadata_log_max_snapshot_interval_ms,
            config.metadata_max_retention_bytes,
            config.metadata_max_retention_ms,
        )

    def in_memory(self) -> MetadataLogLimits:
        """For a log that no start will read, and that takes memory: a few MiB at most."""
        limit = self.retention_bytes
        return self._replace(
            snapshot_bytes=min(self.snapshot_bytes, _MOST_IN_MEMORY),
            retention_bytes=min(limit, _MOST_IN_MEMORY) if limit >= 0 else _MOST_IN_MEMORY,
        )


class SnapshotSchedule:
    """Counts what the log was given since the last snapshot was begun."""

    __slots__ = ("_began_ms", "_is_due_at_once", "_limits", "_size_bytes")

    def __init__(
        self,
        limits: MetadataLogLimits,
        now: TimestampMs,
        *,
        size_bytes: int,
        is_due_at_once: bool,
    ) -> None:
        """`size_bytes`: of what a start has read behind the newest snapshot."""
        self._limits = limits
        self._size_bytes = size_bytes
        self._began_ms = now
        self._is_due_at_once = is_due_at_once

    def appended(self, size_bytes: int) -> None:
        """So many bytes of records came."""
        self._size_bytes += size_bytes

    def is_due(self, now: TimestampMs) -> bool:
        """Whether a snapshot is; to be asked when something was appended."""
        interval_ms = self._limits.snapshot_interval_ms
        return (
            self._is_due_at_once
            or self._size_bytes >= self._limits.snapshot_bytes
            or 0 < interval_ms <= now - self._began_ms
        )

    def begun(self, now: TimestampMs) -> None:
        """One was begun; or it was tried, and the disk refused."""
        self._size_bytes, self._began_ms, self._is_due_at_once = 0, now, False

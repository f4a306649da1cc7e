"""What one partition of `__consumer_offsets` says: `apply` is its only writer.

Source: Kafka's replay of `GroupMetadataKey` and `OffsetCommitKey` records.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups, replay
from kafkalite.coordinator.groups.log_record import JournalRecord, TransactionEnded
from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)


class RecordedState:
    """Groups and offsets as recorded. The same log gives the same state."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupMetadataValue | None] = {}
        """None: a simple consumer's group, which exists by its offsets alone."""
        self.consumer_groups: ConsumerGroups = {}
        """No group is of both kinds."""
        self.offsets = CommittedOffsets()

    @property
    def group_count(self) -> int:
        """Of both kinds."""
        return len(self.groups) + len(self.consumer_groups)

    def apply(self, record: JournalRecord) -> None:
        """Fold a record in. Records of share and streams groups are passed over.

        Where the log was compacted, the tombstone may be missing of a simple consumer's group that
        made way for a consumer group, so that this one's records are enough."""
        if isinstance(record, TransactionEnded):
            self.offsets.end_transaction(record.producer_id, committed=record.committed)
            return
        key, value, producer_id, _ = record
        if isinstance(key, OffsetCommitKey):  # Nearly all that a long log has.
            assert value is None or isinstance(value, OffsetCommitValue), value
            group = key.group
            is_known = group in self.groups or group in self.consumer_groups
            if value is not None and not is_known:
                self.groups[group] = None
            self.offsets.apply(key, value, producer_id)
            return
        match key, value:
            case GroupMetadataKey() as key, None:
                self.groups.pop(key.group, None)
            case GroupMetadataKey() as key, GroupMetadataValue() as value:
                self.groups[key.group] = value
                self.consumer_groups.pop(key.group, None)
            case _:
                group_id = replay(self.consumer_groups, record)
                if group_id in self.consumer_groups:
                    self.groups.pop(group_id, None)

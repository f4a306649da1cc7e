"""What one partition of `__consumer_offsets` says: `apply` is its only writer.

Source: Kafka's replay of `GroupMetadataKey` and `OffsetCommitKey` records.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.records import JournalRecord, TransactionEnded
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
        self.offsets = CommittedOffsets()

    def apply(self, record: JournalRecord) -> None:
        """Fold a record in. Records of other kinds of groups are passed over."""
        if isinstance(record, TransactionEnded):
            self.offsets.end_transaction(record.producer_id, committed=record.committed)
            return
        match record.key, record.value:
            case OffsetCommitKey() as key, (OffsetCommitValue() | None) as value:
                if value is not None:
                    self.groups.setdefault(key.group, None)
                self.offsets.apply(key, value, record.producer_id)
            case GroupMetadataKey() as key, None:
                self.groups.pop(key.group, None)
            case GroupMetadataKey() as key, GroupMetadataValue() as value:
                self.groups[key.group] = value
            case _:
                pass

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import HeartbeatSeen, JoinTimedOut
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import CancelTimer, Outcome, Reply, SetTimer
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.types import TimestampMs, TopicPartition

NOW = TimestampMs(1000)


def test_nothing_follows_from_nothing() -> None:
    assert Draft(NOW, GroupSettings()).outcome() == Outcome()


def test_everything_in_the_order_in_which_it_was_decided() -> None:
    draft = Draft(NOW, GroupSettings())
    draft.write_offset("g", TopicPartition("t", 3), OffsetCommitValue(offset=5))
    draft.write_offset("g", TopicPartition("t", 4), None)
    draft.write_group("g", GroupMetadataValue(generation=2))
    draft.write_group("h", None)
    draft.reply("waiting", HeartbeatSeen(ErrorCode.NONE))
    draft.reply(None, HeartbeatSeen(ErrorCode.NONE))
    draft.set_timer("key", 50, JoinTimedOut("g"))
    draft.cancel_timer("other")
    assert draft.outcome() == Outcome(
        records=(
            Record(OffsetCommitKey(group="g", topic="t", partition=3), OffsetCommitValue(offset=5)),
            Record(OffsetCommitKey(group="g", topic="t", partition=4), None),
            Record(GroupMetadataKey(group="g"), GroupMetadataValue(generation=2)),
            Record(GroupMetadataKey(group="h"), None),
        ),
        replies=(Reply("waiting", HeartbeatSeen(ErrorCode.NONE)),),
        timers=(
            SetTimer("key", TimestampMs(1050), JoinTimedOut("g")),
            CancelTimer("other"),
        ),
    )

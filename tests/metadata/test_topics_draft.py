"""Topics in the making: by name and by id, shared where nothing changed, and broken logs."""

from __future__ import annotations

import pytest

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
)
from tests.metadata.sample_changes import (
    folded,
    image_of,
    partition,
    setting,
    topic,
    uuid,
)

TOPIC = ConfigResourceType.TOPIC


def test_a_topic_is_there_by_name_and_by_id() -> None:
    image = image_of(topic("t", 1), partition(1, 1, [2, 1]), partition(1, 0, [1, 2]))
    t = image.topics["t"]
    assert image.topics_by_id[uuid(1)] is t
    assert [p.leader for p in t.partitions] == [1, 2]
    assert t.partitions[1].directories == (uuid(102), uuid(101))


def test_changing_one_topic_shares_the_others() -> None:
    before = image_of(topic("t", 1), partition(1, 0, [1]), topic("u", 2), partition(2, 0, [1]))
    change = folded(before, PartitionChangeRecord(partition_id=0, topic_id=uuid(1), leader=-1))
    after = change.image
    assert after.topics["u"] is before.topics["u"]
    assert after.brokers is before.brokers
    assert after.topics["t"].partitions[0].leader == -1
    assert before.topics["t"].partitions[0].leader == 1, "the image before is as it was"
    assert after.topics_by_id[uuid(1)] is after.topics["t"]


def test_partitions_can_be_added_to_a_topic() -> None:
    before = image_of(topic("t", 1), partition(1, 0, [1]))
    after = folded(before, partition(1, 1, [2])).image
    assert [p.leader for p in after.topics["t"].partitions] == [1, 2]


def test_deleting_and_making_again_within_one_fold() -> None:
    before = image_of(topic("t", 1), partition(1, 0, [1]))
    change = folded(
        before, RemoveTopicRecord(topic_id=uuid(1)), topic("t", 2), partition(2, 0, [1])
    )
    assert change.image.topics["t"].id == uuid(2)
    assert list(change.image.topics_by_id) == [uuid(2)]
    assert [t.id for t in change.delta.deleted] == [uuid(1)]
    assert [t.id for t in change.delta.created] == [uuid(2)]


def test_making_and_deleting_within_one_fold_leaves_no_trace() -> None:
    change = folded(
        MetadataImage(),
        topic("t", 1),
        setting(TOPIC, "t", "retention.ms", "5"),
        RemoveTopicRecord(topic_id=uuid(1)),
    )
    image = change.image
    assert [len(m) for m in (image.topics, image.topics_by_id, image.configs)] == [0, 0, 0]
    assert change.delta.deleted == change.delta.created == ()


def test_eligible_leader_replicas_are_cleared_for_one_topic_or_all() -> None:
    elr = {"eligible_leader_replicas": [2], "last_known_elr": [2]}
    image = image_of(
        topic("t", 1),
        partition(1, 0, [1], **elr),
        partition(1, 1, [1]),
        topic("u", 2),
        partition(2, 0, [1], **elr),
        topic("gone", 3),
    )
    one = folded(image, ClearElrRecord(topic_name="t")).image
    cleared = one.topics["t"].partitions[0]
    assert (cleared.eligible_leader_replicas, cleared.partition_epoch) == ((), 1)
    assert one.topics["t"].partitions[1] == image.topics["t"].partitions[1]
    assert one.topics["u"] is image.topics["u"]
    every = folded(
        image,
        RemoveTopicRecord(topic_id=uuid(3)),
        topic("new", 4),
        partition(4, 0, [1], **elr),
        ClearElrRecord(topic_name="new"),
        ClearElrRecord(),
    ).image
    assert all(p.last_known_elr == () for t in every.topics.values() for p in t.partitions), every


def test_a_deleted_topic_is_not_there_for_the_same_fold() -> None:
    base = image_of(topic("t", 1), partition(1, 0, [1]))
    with pytest.raises(InvariantError):
        folded(base, RemoveTopicRecord(topic_id=uuid(1)), partition(1, 1, [1]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (topic("t", 2), "creates topic t, which exists"),
        (partition(9, 0, [1]), "names topic id"),
        (RemoveTopicRecord(topic_id=uuid(9)), "names topic id"),
        (PartitionChangeRecord(partition_id=5, topic_id=uuid(1)), "partition 5, which is missing"),
        (ClearElrRecord(topic_name="u"), "names topic u"),
        (partition(1, 2, [1]), "have gaps"),
    ],
)
def test_contradictions_are_a_broken_log(change: Change, words: str) -> None:
    with pytest.raises(InvariantError, match=words):
        folded(image_of(topic("t", 1), partition(1, 0, [1])), change)

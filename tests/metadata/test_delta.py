from __future__ import annotations

from kafkalite.metadata.delta import MetadataDelta, difference, whole
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.metadata_records import FeatureLevelRecord, PartitionChangeRecord
from tests.metadata.sample_changes import (
    credential,
    folded,
    image_of,
    partition,
    registration,
    setting,
    topic,
    uuid,
)


def test_partitions_that_are_new_or_changed_and_no_others() -> None:
    before = image_of(topic("t", 1), partition(1, 0, [1]), partition(1, 1, [1]))
    delta = folded(
        before,
        PartitionChangeRecord(partition_id=1, topic_id=uuid(1), leader=-1),
        partition(1, 2, [1]),
        topic("u", 2),
        partition(2, 0, [1]),
    ).delta
    seen = [
        (change.topic.name, change.partition, change.before is None, change.after.leader)
        for change in delta.partitions()
    ]
    assert seen == [("u", 0, True, 1), ("t", 1, False, -1), ("t", 2, True, 1)]


def test_the_whole_image_as_new() -> None:
    image = image_of(
        topic("t", 1),
        partition(1, 0, [1]),
        registration(3),
        setting(ConfigResourceType.TOPIC, "t", "retention.ms", "5"),
        FeatureLevelRecord(name="metadata.version", feature_level=33),
        credential("alice"),
        credential("alice", 2),
    )
    delta = whole(image)
    assert [change.topic.name for change in delta.partitions()] == ["t"]
    assert delta.brokers == (3,)
    assert delta.configs == (ConfigResource(ConfigResourceType.TOPIC, "t"),)
    assert delta.users == ("alice",)
    assert delta.features
    assert whole(MetadataImage()) == folded(MetadataImage()).delta


def test_the_difference_between_two_images() -> None:
    before = image_of(
        topic("gone", 1),
        topic("again", 2),
        topic("grown", 3),
        topic("kept", 4),
        registration(1),
        credential("kept"),
        credential("gone"),
    )
    after = image_of(
        topic("again", 5),
        topic("grown", 3),
        partition(3, 0, [1]),
        topic("kept", 4),
        topic("new", 6),
        registration(1),
        registration(2),
        setting(2, "new", "cleanup.policy", "compact"),
        credential("alice"),
        credential("alice", 2),
        credential("kept"),
    )
    delta = difference(before, after)
    assert {each.id for each in delta.deleted} == {uuid(1), uuid(2)}
    assert {each.id for each in delta.created} == {uuid(5), uuid(6)}
    assert [each.after.name for each in delta.changed] == ["grown"]
    assert delta.brokers == (2,)
    assert delta.configs == (ConfigResource(2, "new"),)
    assert delta.users == ("gone", "alice")
    assert not delta.features
    assert difference(before, before) == MetadataDelta()

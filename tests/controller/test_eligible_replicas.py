from __future__ import annotations

import pytest

from kafkalite.controller.eligible_replicas import (
    ELIGIBLE_REPLICAS,
    clearing,
    eligible_replicas,
    keeps_eligible_replicas,
    last_leader_to_keep,
    min_in_sync_setting,
    one_min_in_sync,
)
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.metadata_records import ClearElrRecord, ConfigRecord
from kafkalite.types import NO_LEADER, BrokerId
from tests.controller.sample_partitions import ids, partition

ON = MetadataImage(features={ELIGIBLE_REPLICAS: 1})
BROKER = ConfigResourceType.BROKER


def test_the_feature_says_whether_a_cluster_keeps_them() -> None:
    assert keeps_eligible_replicas(ON)
    assert not keeps_eligible_replicas(MetadataImage())


@pytest.mark.parametrize(
    ("in_sync", "eligible", "stay", "unclean", "expected"),
    [
        ((1, 2, 3), (), (1, 2), None, ()),
        ((1, 2), (), (1,), None, (2,)),
        ((1,), (2,), (), None, (1, 2)),
        ((1,), (2,), (), 1, (2,)),
        ((), (1, 2), (), 1, (2,)),
        ((1,), (2,), (1, 2), None, ()),
        ((1,), (2,), (1, 3), None, ()),
        ((33, 2, 17), (), (), None, (33, 17, 2)),
    ],
)
def test_who_leaves_while_too_few_are_in_sync_is_eligible(
    in_sync: tuple[int, ...],
    eligible: tuple[int, ...],
    stay: tuple[int, ...],
    unclean: int | None,
    expected: tuple[int, ...],
) -> None:
    before = partition((1, 2, 3), in_sync, -1, eligible_leader_replicas=ids(*eligible))
    stopped = None if unclean is None else BrokerId(unclean)
    found = eligible_replicas(
        before, ids(*stay), 2, replicas=ids(1, 2, 3, 17, 33), unclean_stop=stopped
    )
    assert found == expected


def test_who_is_no_replica_any_more_is_not_eligible() -> None:
    before = partition((1, 2, 3), (3,), 3, eligible_leader_replicas=ids(1, 2))
    assert eligible_replicas(before, ids(3), 2, replicas=ids(3)) == ()
    assert eligible_replicas(before, ids(), 2, replicas=ids(3, 2)) == ids(2, 3)


@pytest.mark.parametrize(
    ("known", "leader", "expected"),
    [
        ((), NO_LEADER, (1,)),
        ((), 2, None),
        ((), None, None),
        ((1,), NO_LEADER, None),
        ((1,), None, None),
        ((1,), 2, ()),
    ],
)
def test_the_last_leader_is_known_until_there_is_another(
    known: tuple[int, ...], leader: int | None, expected: tuple[int, ...] | None
) -> None:
    before = partition((1, 2), (1,), 1, last_known_elr=ids(*known))
    chosen = None if leader is None else BrokerId(leader)
    assert last_leader_to_keep(before, chosen) == expected


def test_all_brokers_have_one_min_in_sync_from_now_on() -> None:
    """The order of records is the real Kafka's."""
    settings = {
        ConfigResource(BROKER, "7"): {"min.insync.replicas": "2", "log.retention.ms": "5"},
        ConfigResource(BROKER, "8"): {"log.retention.ms": "5"},
        ConfigResource(ConfigResourceType.TOPIC, "t"): {"min.insync.replicas": "2"},
    }
    image = MetadataImage(configs=settings)
    taken = min_in_sync_setting("7", None)
    assert list(one_min_in_sync(image, 3)) == [min_in_sync_setting("", "3"), taken]
    settings[ConfigResource(BROKER, "")] = {"min.insync.replicas": "1"}
    assert list(one_min_in_sync(image, 3)) == [taken]


def test_another_min_in_sync_clears_who_was_eligible() -> None:
    def of(name: str, key: str = "min.insync.replicas") -> ConfigRecord:
        topic = ConfigResourceType.TOPIC
        return ConfigRecord(resource_type=topic, resource_name=name, name=key, value="1")

    altered = [of("t"), of("u", "retention.ms"), min_in_sync_setting("", "2"), of("v")]
    assert clearing(ON, altered) == [
        ClearElrRecord(topic_name="t"),
        ClearElrRecord(topic_name=""),
        ClearElrRecord(topic_name="v"),
    ]
    assert clearing(MetadataImage(), altered) == []

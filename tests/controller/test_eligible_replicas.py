from __future__ import annotations

from typing import Any

import pytest

from kafkalite.controller.eligible_replicas import (
    ELIGIBLE_REPLICAS,
    begun,
    clearing,
    eligible_replicas,
    ended,
    keeps_eligible_replicas,
    last_leader_to_keep,
    min_in_sync_setting,
    one_min_in_sync,
)
from kafkalite.controller.events import (
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    FeatureUpdate,
    NewTopic,
    ResourceEdits,
    UpdateFeatures,
)
from kafkalite.controller.replica_events import ShutDownBroker
from kafkalite.controller.settings import TopicDefaults
from kafkalite.controller.term_events import LoseBroker, RegisterBroker, StartTerm
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import (
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.metadata.snapshot import changes_of
from kafkalite.protocol.messages.metadata_records import (
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
)
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId
from tests.controller.sample_cluster import Cluster, assignment, broker_registration, uuid
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


def of_two_topics(of_t: PartitionImage, of_u: PartitionImage) -> MetadataImage:
    """Each has a partition 0 that is well, and that one."""
    well = partition((1, 2), (1, 2), 1)
    topics = [TopicImage("t", uuid(1), (well, of_t)), TopicImage("u", uuid(2), (well, of_u))]
    return ON._replace(
        topics={each.name: each for each in topics},
        topics_by_id={each.id: each for each in topics},
    )


def of_second(topic: int, **fields: Any) -> PartitionChangeRecord:
    # Any: fields of the record.
    return PartitionChangeRecord(partition_id=1, topic_id=uuid(topic), **fields)


def test_they_stay_where_nobody_leads_when_min_in_sync_is_altered() -> None:
    """Nothing was acknowledged without them since, and without them nobody would ever lead."""
    waiting = partition(
        (1, 2, 3), (), -1, eligible_leader_replicas=ids(2, 3), last_known_elr=ids(1)
    )
    image = of_two_topics(waiting, waiting)
    of_u = ConfigRecord(
        resource_type=ConfigResourceType.TOPIC, resource_name="u", name="min.insync.replicas"
    )
    kept = [of_second(n, eligible_leader_replicas=[2, 3], last_known_elr=[1]) for n in (1, 2)]
    assert clearing(image, [of_u]) == [ClearElrRecord(topic_name="u"), kept[1]]
    of_all = min_in_sync_setting("", "2")
    assert clearing(image, [of_all]) == [ClearElrRecord(topic_name=""), *kept]


def test_who_is_waited_for_is_eligible_when_a_cluster_begins_to_keep_them() -> None:
    image = of_two_topics(partition((1, 2), (2,), -1), partition((1, 2), (2,), 2))
    assert list(begun(image)) == []
    of_t = of_second(1, isr=[], eligible_leader_replicas=[2], last_known_elr=[2])
    assert list(begun(image._replace(features={}))) == [of_t]


def test_who_is_waited_for_is_in_sync_when_a_cluster_ends_to_keep_them() -> None:
    none: dict[str, list[int]] = {"eligible_leader_replicas": [], "last_known_elr": []}

    def of(first: PartitionImage, second: PartitionImage) -> list[Change]:
        return list(ended(of_two_topics(first, second)))

    led = partition((1, 2), (1,), 1, eligible_leader_replicas=ids(2))
    nobody = partition((1, 2), (), -1, last_known_elr=ids(2))
    assert of(led, nobody) == [
        of_second(1, **none),
        of_second(2, isr=[2], **none),
    ]
    several = partition((1, 2), (), -1, eligible_leader_replicas=ids(1, 2), last_known_elr=ids(1))
    nothing = partition((1, 2), (1, 2), 2)
    assert of(several, nothing) == [of_second(1, isr=[1, 2], **none)]


def stopped(on: Cluster, id: int) -> None:
    on.feed(ShutDownBroker("token", BrokerId(id), BrokerEpoch(id)))


def set_feature(on: Cluster, level: int) -> None:
    updates = (FeatureUpdate(ELIGIBLE_REPLICAS, level, 1 if level else 2),)
    on.feed(UpdateFeatures("token", updates, BrokerId(1)))


def set_min_in_sync(on: Cluster, value: str) -> None:
    edit = ConfigEdit("min.insync.replicas", ConfigOperation.SET, value)
    topic = ConfigResource(ConfigResourceType.TOPIC, "t")
    on.feed(AlterConfigs("token", (ResourceEdits(topic, (edit,)),), BrokerId(1), {}))


def of_three() -> Cluster:
    """2 is eligible beside 1, which leads."""
    on = Cluster(1, 2, 3, defaults=TopicDefaults(min_in_sync_replicas=2))
    on.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    stopped(on, 2)
    assert first(on).eligible_leader_replicas == ids(2)
    return on


def first(on: Cluster) -> PartitionImage:
    return on.controller.image.topics["t"].partitions[0]


def restarted(on: Cluster, id: int, previous_epoch: int = -1) -> None:
    registration = broker_registration(id, incarnation=1)._replace(
        previous_broker_epoch=BrokerEpoch(previous_epoch)
    )
    on.feed(RegisterBroker(None, registration, BrokerEpoch(10 + id)))


def test_who_was_eligible_does_not_lead_once_none_are_kept_and_one_in_sync_is_enough() -> None:
    """It lacks what the leader has acknowledged alone since."""
    on = of_three()
    set_feature(on, 0)
    set_min_in_sync(on, "1")
    restarted(on, 2, previous_epoch=2)
    stopped(on, 1)
    assert first(on).leader == NO_LEADER
    assert first(on).isr == ids(1)


def test_what_a_kafka_left_behind_that_ended_to_keep_them_is_forgotten() -> None:
    """It alters no partition then; a snapshot that it makes leaves them out."""
    on = of_three()
    on.controller.apply(FeatureLevelRecord(name=ELIGIBLE_REPLICAS, feature_level=0))
    assert first(on).eligible_leader_replicas == ids(2)
    on.feed(StartTerm(()))
    kept = [each for each in changes_of(on.controller.image) if isinstance(each, PartitionRecord)]
    assert [each.eligible_leader_replicas for each in kept] == [None]
    set_feature(on, 1)
    restarted(on, 2)
    on.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    assert first(on).leader == NO_LEADER, "2 lacks what 1 has acknowledged alone"


def test_a_controller_that_begins_forgets_none_while_they_are_kept() -> None:
    on = of_three()
    on.feed(StartTerm(()))
    assert first(on).eligible_leader_replicas == ids(2)


@pytest.mark.parametrize("level", [0, 1])
def test_a_partition_is_led_again_whatever_was_altered_while_nobody_led_it(level: int) -> None:
    on = of_three()
    restarted(on, 2)
    assert first(on).eligible_leader_replicas == ()
    on.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    assert first(on).leader == NO_LEADER
    set_min_in_sync(on, "1")
    set_feature(on, 0)
    set_feature(on, level)
    restarted(on, 1)
    assert first(on).leader == 1


def test_nobody_is_eligible_beside_who_is_elected_and_enough() -> None:
    on = of_three()
    stopped(on, 1)
    set_min_in_sync(on, "1")
    assert first(on).eligible_leader_replicas == ids(1, 2)
    restarted(on, 1, previous_epoch=1)
    assert (first(on).leader, first(on).eligible_leader_replicas) == (1, ())

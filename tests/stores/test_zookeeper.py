"""What stands over ZooKeeper beyond the contract (`tests/metadata/test_store.py`)."""

from __future__ import annotations

import json

import pytest

from kafkalite.metadata.image import ConfigResource
from kafkalite.metadata.store import (
    Committed,
)
from kafkalite.ports.zookeeper import Create, Delete
from kafkalite.protocol.messages.metadata_records import (
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper_edits import MOST_NOTIFICATIONS
from kafkalite.types import (
    parse_uuid,
)
from tests.metadata.sample_changes import changed, partition, setting, topic, uuid
from tests.stores.golden_znodes import MOMENTS, moment
from tests.stores.zookeeper_cluster import Cluster, Member

GOLDEN_TOPIC = "my-replicated-topic"
GOLDEN_ID = parse_uuid("eG9K_sy4QM-IiyNCJcNJqQ")


def golden(name: str) -> Cluster:
    """An ensemble as the golden one was at that moment, its brokers gone but for their names."""
    cluster = Cluster()
    cluster.write(Delete(znodes.CLUSTER_ID))
    cluster.fill(
        {
            path: node.data
            for path, node in moment(name).items()
            if path != "/" and path != znodes.CONTROLLER
        }
    )
    return cluster


def same(cluster: Cluster, name: str, *topics: str) -> None:
    """Their znodes are those of the golden moment, byte by byte."""
    wanted = moment(name)
    paths = [p for p in wanted if any(f"/{each}" in p for each in topics)]
    assert paths
    for path in paths:
        assert cluster.data(path) == wanted[path].data, path


@pytest.mark.parametrize("name", MOMENTS)
def test_a_golden_moment_is_read_as_it_was(name: str) -> None:
    one = Member(golden(name), 7)
    image, nodes = one.image, moment(name)
    topics = {path.split("/")[3] for path in nodes if path.startswith(f"{znodes.TOPICS}/")}
    deleted = {name for name in topics if f"{znodes.DELETE_TOPICS}/{name}" in nodes}
    assert set(image.topics) == topics - deleted
    assert {each.name for each in one.deltas[0].deleted} == deleted
    assert deleted == ({"cfg"} if name == "7-topic-deleted" else set())
    for index, each in enumerate(image.topics[GOLDEN_TOPIC].partitions):
        data = nodes[znodes.state_path(GOLDEN_TOPIC, index)].data
        assert data is not None
        state = json.loads(data)
        assert [each.leader, list(each.isr)] == [state["leader"], state["isr"]]
        assert each.leader_epoch == state["leader_epoch"]
    assert image.topic_config("__consumer_offsets")["cleanup.policy"] == "compact"
    brokers = {int(path[13:]) for path in nodes if path.startswith(f"{znodes.BROKER_IDS}/")}
    assert set(image.brokers) == brokers | {7}
    epoch = nodes[znodes.CONTROLLER_EPOCH].data
    assert epoch is not None
    assert image.epoch == int(epoch) + 1, "and one more for the election of this one"


def test_topics_stand_as_in_the_golden_moments(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(
        TopicRecord(name=GOLDEN_TOPIC, topic_id=GOLDEN_ID),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=GOLDEN_ID,
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
            for index, replicas in enumerate(([0, 2, 1], [2, 1, 0], [1, 0, 2]))
        ),
    )
    same(cluster, "1-three-brokers-up", GOLDEN_TOPIC)
    assert {p.partition_epoch for p in one.image.topics[GOLDEN_TOPIC].partitions} == {0}
    one.commit(
        changed(GOLDEN_ID, 0, isr=[0, 2], leader=0),
        changed(GOLDEN_ID, 1, isr=[2, 0], leader=2),
        changed(GOLDEN_ID, 2, isr=[0, 2], leader=0),
    )
    same(cluster, "3-broker-1-killed", GOLDEN_TOPIC)
    one.commit(
        changed(GOLDEN_ID, 0, isr=[0, 2, 1]),
        changed(GOLDEN_ID, 1, isr=[2, 0, 1]),
        changed(GOLDEN_ID, 2, isr=[0, 2, 1]),
    )
    same(cluster, "4-broker-1-back", GOLDEN_TOPIC)
    one.commit(changed(GOLDEN_ID, 2, leader=1))
    same(cluster, "5-preferred-election", GOLDEN_TOPIC)
    state = cluster.node(znodes.state_path(GOLDEN_TOPIC, 2))
    assert state is not None
    assert (
        state.stat.version
        == moment("5-preferred-election")[znodes.state_path(GOLDEN_TOPIC, 2)].version
        == one.image.topics[GOLDEN_TOPIC].partitions[2].partition_epoch
    )


def test_a_deleted_topic_leaves_nothing(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(
        topic("cfg", 1), partition(1, 0, [1]), setting(2, "cfg", "cleanup.policy", "compact")
    )
    assert cluster.data("/config/topics/cfg") == moment(MOMENTS[0])["/config/topics/cfg"].data
    cluster.write(Create("/admin/delete_topics/cfg"))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    for path in (
        "/brokers/topics/cfg",
        "/config/topics/cfg",
        "/admin/delete_topics/cfg",
        "/config/changes/config_change_0000000000",
    ):
        assert cluster.node(path) is None
    assert one.image.topics == {}
    assert one.image.configs == {}


def test_settings_are_notified(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    one.commit(setting(4, "", "log.retention.ms", "7"))
    one.commit(setting(32, "group", "consumer.session.timeout.ms", "50000"))
    assert cluster.data("/config/brokers/<default>") == (
        b'{"version":1,"config":{"log.retention.ms":"7"}}'
    )
    assert cluster.data("/config/changes/config_change_0000000000") == (
        b'{"version":2,"entity_path":"brokers/<default>"}'
    )
    assert cluster.node("/config/changes/config_change_0000000001") is None
    assert two.image.configs[ConfigResource(4, "")] == {"log.retention.ms": "7"}
    one.commit(setting(4, "", "log.retention.ms", None))
    assert cluster.data("/config/brokers/<default>") == b'{"version":1,"config":{}}'
    assert ConfigResource(4, "") not in two.image.configs


@pytest.mark.parametrize(("type", "folder"), [(32, "groups"), (16, "client-metrics")])
def test_settings_that_no_notification_tells_of_are_seen_by_all(
    cluster: Cluster, type: int, folder: str
) -> None:
    """A Kafka 3.9 does not know them, nor the folder, which the first of them makes."""
    one, two = Member(cluster, 1), Member(cluster, 2)
    for name, value in (("a", "1"), ("b", "2"), ("a", "3")):
        one.commit(setting(type, name, "key", value))
        assert two.image.configs[ConfigResource(type, name)] == {"key": value}
    one.commit(setting(type, "a", "key", None))
    assert list(two.image.configs) == [ConfigResource(type, "b")]
    assert cluster.hand_children(f"/config/{folder}") == ("a", "b")
    assert cluster.hand_children(znodes.CONFIG_CHANGES) == ()


def test_settings_that_stand_there_are_read_at_first(cluster: Cluster) -> None:
    """No notification tells of them: those of one broker, of all, of groups and subscriptions."""
    one = Member(cluster, 1)
    names = {(4, "1"), (4, ""), (32, "g"), (16, "s")}
    one.commit(*(setting(type, name, "key", "value") for type, name in sorted(names)))
    for path in cluster.hand_children(znodes.CONFIG_CHANGES):
        cluster.write(Delete(f"{znodes.CONFIG_CHANGES}/{path}"))
    found = Member(cluster, 2).image.configs
    assert {(each.type, each.name) for each in found} == names
    assert all(values == {"key": "value"} for values in found.values())


def test_old_notifications_go(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    for number in range(MOST_NOTIFICATIONS + 2):
        one.commit(setting(4, "1", "log.retention.ms", str(number)))
    assert cluster.node("/config/changes/config_change_0000000001") is None
    assert cluster.node("/config/changes/config_change_0000000002") is not None


def test_producer_ids_go_on_from_the_last_block(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(ProducerIdsRecord(broker_id=3, broker_epoch=1, next_producer_id=1000))
    one.commit(ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=2000))
    assert cluster.data(znodes.PRODUCER_IDS) == (
        b'{"version":1,"broker":4,"block_start":"1000","block_end":"1999"}'
    )
    assert Member(cluster, 2).image.next_producer_id == 2000


def test_a_large_topic_takes_several_transactions(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    partitions = [partition(1, index, [1, 2, 3]) for index in range(3000)]
    assert isinstance(one.commit(topic("large", 1), *partitions), Committed)
    assert len(two.image.topics["large"].partitions) == 3000

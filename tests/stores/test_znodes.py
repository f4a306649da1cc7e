"""What stands in Kafka's znodes: read, and written again byte by byte, at eight golden moments."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kafkalite.metadata.image import ConfigResource, ConfigResourceType, Endpoint, VersionRange
from kafkalite.stores import znodes
from kafkalite.stores.znodes import Assignment, BrokerNode, StateNode, TopicNode
from kafkalite.types import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ProducerId,
    TopicPartition,
    Uuid,
)
from tests.stores.golden_znodes import MOMENTS, moment


def rewritten(path: str, data: bytes) -> bytes | None:
    """Read and written; None for a path that has no content of its own."""
    content = json.loads(data)
    if path.startswith(f"{znodes.BROKER_IDS}/"):
        return znodes.write_broker(znodes.read_broker(data), int(content["timestamp"]))
    if path == znodes.CONTROLLER:
        return znodes.write_controller(znodes.read_controller(data), int(content["timestamp"]))
    if path == znodes.CLUSTER_ID:
        return znodes.write_cluster_id(znodes.read_cluster_id(data))
    if path == znodes.FEATURE:
        return znodes.write_feature()
    if path.endswith("/state"):
        return znodes.write_state(znodes.read_state(data))
    if path.startswith(f"{znodes.TOPICS}/"):
        return znodes.write_topic(znodes.read_topic(data))
    if znodes.config_resource(path) is not None:
        return znodes.write_config(znodes.read_config(data))
    return None


@pytest.mark.parametrize("name", MOMENTS)
def test_golden_znodes_are_written_as_they_were_read(name: str) -> None:
    seen = 0
    for path, node in moment(name).items():
        if node.data is None or path == znodes.CONTROLLER_EPOCH:
            continue
        again = rewritten(path, node.data)
        assert again is not None, path
        if path == znodes.topic_path("__consumer_offsets"):  # Its 50 are in a hash map's order.
            assert json.loads(again) == json.loads(node.data)
        else:
            assert again == node.data
        seen += 1
    assert seen >= 14


@pytest.mark.parametrize("name", MOMENTS)
def test_persistent_paths_are_kafkas(name: str) -> None:
    golden = moment(name)
    assert set(znodes.PERSISTENT) <= golden.keys()
    assert all(golden[path].data is None for path in znodes.PERSISTENT)


def test_values_of_a_golden_moment() -> None:
    golden = moment("3-broker-1-killed")
    assert znodes.read_broker(golden["/brokers/ids/2"].data) == BrokerNode(
        (Endpoint("PLAINTEXT", "127.0.0.1", 23092),)
    )
    assert znodes.read_state(golden["/brokers/topics/cfg/partitions/0/state"].data) == StateNode(
        BrokerId(-1), LeaderEpoch(1), (BrokerId(1),), ControllerEpoch(1)
    )
    topic = znodes.read_topic(golden["/brokers/topics/cfg"].data)
    assert [each.replicas for each in topic.partitions] == [(1,), (2,), (0,)]
    assert znodes.read_controller(golden["/controller"].data) == 2
    assert znodes.read_config(golden["/config/topics/cfg"].data) == {"cleanup.policy": "compact"}


def test_a_broker_with_all_there_is() -> None:
    node = BrokerNode(
        (Endpoint("SSL", "::1", 9093, 1), Endpoint("IN", "host", 9092, 0)),
        (("group.version", VersionRange(0, 1)),),
        "rack-1",
    )
    data = znodes.write_broker(node, 5)
    assert znodes.read_broker(data) == node
    content = json.loads(data)
    assert (content["host"], content["port"]) == ("host", 9092)
    assert content["endpoints"] == ["SSL://[::1]:9093", "IN://host:9092"]
    only_ssl = json.loads(znodes.write_broker(BrokerNode(node.endpoints[:1]), 5))
    assert (only_ssl["host"], only_ssl["port"]) == (None, -1)


def test_a_topic_on_its_way() -> None:
    one, two, three = map(BrokerId, (1, 2, 3))
    node = TopicNode(
        Uuid(bytes(15) + b"\x07"),
        (Assignment((one, two)), Assignment((two, three, one), (three,), (one,))),
    )
    assert znodes.read_topic(znodes.write_topic(node)) == node


def test_topics_of_older_kafkas_have_no_id() -> None:
    node = znodes.read_topic(b'{"version":1,"partitions":{"1":[2,3],"0":[1]}}')
    assert node == TopicNode(
        None, (Assignment((BrokerId(1),)), Assignment((BrokerId(2), BrokerId(3))))
    )


def test_an_unclean_leader_is_told() -> None:
    node = StateNode(BrokerId(1), LeaderEpoch(2), (BrokerId(1),), ControllerEpoch(3), 1)
    assert znodes.read_state(znodes.write_state(node)) == node


def test_what_tools_ask() -> None:
    where = TopicPartition("t", 1)
    asked = b'{"version":1,"partitions":[{"topic":"t","partition":1}]}'
    assert znodes.read_partitions(asked) == (where,)
    wanted = {where: (BrokerId(2), BrokerId(1))}
    assert znodes.read_reassignments(znodes.write_reassignments(wanted.items())) == wanted


def test_producer_ids_go_on() -> None:
    assert znodes.read_next_producer_id(None) == 0
    data = znodes.write_producer_ids(BrokerId(1), ProducerId(1000), ProducerId(1999))
    assert data == b'{"version":1,"broker":1,"block_start":"1000","block_end":"1999"}'
    assert znodes.read_next_producer_id(data) == 2000


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        (ConfigResource(ConfigResourceType.TOPIC, "t"), "/config/topics/t"),
        (ConfigResource(ConfigResourceType.BROKER, "1"), "/config/brokers/1"),
        (ConfigResource(ConfigResourceType.BROKER, ""), "/config/brokers/<default>"),
        (ConfigResource(ConfigResourceType.GROUP, "g"), "/config/groups/g"),
        (ConfigResource(ConfigResourceType.CLIENT_METRICS, "m"), "/config/client-metrics/m"),
    ],
)
def test_settings_have_their_places(resource: ConfigResource, path: str) -> None:
    assert znodes.config_path(resource) == path
    assert znodes.config_resource(path) == resource
    assert (
        znodes.write_config_change(resource)
        == json.dumps(
            {"version": 2, "entity_path": path.removeprefix("/config/")}, separators=(",", ":")
        ).encode()
    )


def test_other_places_are_no_settings() -> None:
    assert znodes.config_path(ConfigResource(ConfigResourceType.BROKER_LOGGER, "1")) is None
    for path in ("/config", "/config/topics", "/config/users/u", "/config/changes/c/d"):
        assert znodes.config_resource(path) is None
    assert znodes.read_config(None) == {}


@pytest.mark.parametrize(
    "read",
    [
        znodes.read_broker,
        znodes.read_topic,
        znodes.read_state,
        znodes.read_controller,
        znodes.read_cluster_id,
        znodes.read_config,
        znodes.read_next_producer_id,
        znodes.read_partitions,
        znodes.read_reassignments,
    ],
)
@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"not json",
        b'{"endpoints":7,"partitions":7,"leader":"x","brokerid":null,"config":3,"block_end":[]}',
        b'{"endpoints":["x"],"partitions":{"1":[]},"config":[]}',
        b"[" * 100_000,
    ],
)
def test_what_kafka_does_not_write_is_refused(read: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(data)


@pytest.mark.parametrize("read", [znodes.read_state, znodes.read_folder_event])
def test_numbers_beyond_all_bounds_are_refused(read: Callable[[bytes], object]) -> None:
    with pytest.raises(ValueError, match="not what Kafka writes there"):
        read(b'{"leader":1e999,"isr":[1],"leader_epoch":1,"controller_epoch":1,"broker":1e999}')

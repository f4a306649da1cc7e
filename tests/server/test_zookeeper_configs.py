"""Settings over ZooKeeper, where brokers of Kafka and its tools write them past the controller."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.controller.events import (
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
    ControllerRequest,
    ResourceAltered,
    ResourceEdits,
)
from kafkalite.errors import KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.ports.zookeeper import Create, SetData
from kafkalite.stores import znodes, znodes_changes
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import uuid
from tests.server.zookeeper_world import World

MANY = 40
"""Turns, after which all is read."""
OLD = "/config/topics/old"


@pytest.mark.parametrize(
    ("resource", "path", "key"),
    [
        (
            ConfigResource(ConfigResourceType.BROKER, "2"),
            "/config/brokers/2",
            "log.retention.ms",
        ),
        (
            ConfigResource(ConfigResourceType.BROKER, ""),
            "/config/brokers/<default>",
            "log.retention.ms",
        ),
        (ConfigResource(ConfigResourceType.TOPIC, "old"), "/config/topics/old", "retention.ms"),
    ],
)
def test_what_others_set_a_client_can_take_away(
    resource: ConfigResource, path: str, key: str
) -> None:
    """Also what nobody could have set through this controller."""
    world = World()
    theirs = znodes.write_config({key: "5", "only.in.3.9": "x"})
    find, write = world.cluster.zookeeper.find, world.cluster.write
    write(Create(path, theirs) if find(path) is None else SetData(path, theirs))
    notification = znodes.write_config_change(resource)
    write(Create(znodes.CONFIG_CHANGE, notification, sequential=True))
    goes = ResourceEdits(resource, (ConfigEdit("only.in.3.9", ConfigOperation.DELETE, None),))
    answer = world.asked(AlterConfigs(None, (goes,), BrokerId(2), {}))
    assert answer == ConfigsAltered((ResourceAltered(resource),))
    left = find(path)
    assert left is not None
    assert znodes.read_config(left.data) == {key: "5"}


@pytest.mark.parametrize("is_later", [False, True])
def test_at_no_turn_undoes_one_what_the_other_has_set(
    monkeypatch: pytest.MonkeyPatch, *, is_later: bool
) -> None:
    """Others set retention.ms, and with it all else of the topic, and make one more, which takes
    longer to read; a client sets it, too: before that, behind another, or while it is read. Whoever
    was last has it, and nobody writes a third time."""
    monkeypatch.setattr(znodes_changes, "_MOST_OPERATIONS", 2)  # The first takes its time.
    turns = 0
    while True:
        world = World()
        replies: list[object] = []
        requests: list[ControllerRequest] = [world.alter("9")]
        world.expected = ("going", "made", "old")
        if not is_later:
            requests.insert(0, world.create("a"))
            world.expected = ("a", *world.expected)
            for request in requests:
                world.drivers[1].submit(request, replies.append)
            world.cluster.turns.some(turns)
        theirs = znodes.write_config({"retention.ms": "5", "flush.ms": "7"})
        told = znodes.write_config_change(ConfigResource(ConfigResourceType.TOPIC, "old"))
        written: list[Any] = []  # Any: a result of each kind.
        world.cluster.hand.multi(
            [SetData(OLD, theirs), Create(znodes.CONFIG_CHANGE, told, sequential=True)],
            written.append,
        )
        made = znodes.TopicNode(uuid(9), (znodes.Assignment((BrokerId(1), BrokerId(2))),))
        world.cluster.hand.multi(
            [Create(znodes.topic_path("made"), znodes.write_topic(made))], lambda result: None
        )
        if is_later:
            world.cluster.turns.some(turns)
            for request in requests:
                world.drivers[1].submit(request, replies.append)
        world.settle()
        for request, reply in zip(requests, replies, strict=True):
            if isinstance(reply, KafkaError):
                assert not isinstance(world.asked(request), KafkaError)
        world.judge([])
        left = world.cluster.zookeeper.find(OLD)
        assert left is not None
        assert left.stat.version == 2, turns
        wins = "5" if left.stat.mzxid == written[0][0].mzxid else "9"
        assert znodes.read_config(left.data) == {"retention.ms": wins, "flush.ms": "7"}, turns
        if wins == ("9" if is_later else "5") and turns > MANY:
            break
        turns += 1


def test_at_no_turn_is_lost_what_others_set_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller takes the first as it is while the second is read: that one is none of those
    that it has set itself."""
    monkeypatch.setattr(znodes_changes, "_MOST_OPERATIONS", 2)  # A topic takes its time.
    told = znodes.write_config_change(ConfigResource(ConfigResourceType.TOPIC, "old"))
    made = znodes.TopicNode(uuid(9), (znodes.Assignment((BrokerId(1), BrokerId(2))),))
    for turns in range(60):
        world = World()
        world.expected = ("a", "going", "made", "old")
        world.drivers[1].submit(world.create("a"), lambda reply: None)
        for value in ("5", "6"):
            theirs = znodes.write_config({"retention.ms": value})
            world.cluster.hand.multi(
                [SetData(OLD, theirs), Create(znodes.CONFIG_CHANGE, told, sequential=True)],
                lambda result: None,
            )
            world.cluster.turns.some(turns if value == "5" else 0)
        world.cluster.hand.multi(
            [Create(znodes.topic_path("made"), znodes.write_topic(made))], lambda result: None
        )
        world.settle()
        world.judge([])  # The controller knows what its store's image has.
        left = world.cluster.zookeeper.find(OLD)
        assert left is not None
        assert znodes.read_config(left.data) == {"retention.ms": "6"}, turns

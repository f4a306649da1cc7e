"""Settings over ZooKeeper, where brokers of Kafka and its tools write them past the controller."""

from __future__ import annotations

import pytest

from kafkalite.controller.events import (
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
    ResourceAltered,
    ResourceEdits,
)
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.ports.zookeeper import Create, SetData
from kafkalite.stores import znodes
from kafkalite.types import BrokerId
from tests.server.zookeeper_world import World


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

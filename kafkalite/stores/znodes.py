"""Kafka 3.9's znodes: where each stands, and what is written in it.

    /brokers/ids/N                      who is alive; its epoch is the znode's czxid
    /brokers/topics/T                   id and assignment of a topic
    /brokers/topics/T/partitions/P/state    leader, ISR; its version is the partition epoch
    /controller, /controller_epoch      who decides, and since which epoch
    /config/TYPE/NAME, /config/changes  settings, and what tells brokers of them; of users, see
                                        `znodes_users.py`
    /admin/...                          what tools ask of the controller
    /log_dir_event_notification         which brokers have lost a log folder
    /latest_producer_id_block           ids that were handed out last

All functions here are pure. Those that read raise `ValueError` for what Kafka would not have
written.

Source: Kafka's `ZkData`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kafkalite.metadata.image import ConfigResource, ConfigResourceType, Endpoint, VersionRange
from kafkalite.metadata.registrations import ids
from kafkalite.types import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ProducerId,
    TopicPartition,
    Uuid,
    format_uuid,
    parse_uuid,
)

BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
CLUSTER_ID: Final = "/cluster/id"
CONFIG: Final = "/config"
CONFIG_CHANGES: Final = "/config/changes"
CONFIG_CHANGE: Final = "/config/changes/config_change_"
"""A number is added to its name."""
DELETE_TOPICS: Final = "/admin/delete_topics"
REASSIGN: Final = "/admin/reassign_partitions"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
FOLDER_EVENTS: Final = "/log_dir_event_notification"
FOLDER_EVENT: Final = "/log_dir_event_notification/log_dir_event_"
"""A number is added to its name."""
PRODUCER_IDS: Final = "/latest_producer_id_block"
FEATURE: Final = "/feature"

CONFIG_FOLDERS: Final[Mapping[int, str]] = {
    ConfigResourceType.TOPIC: "topics",
    ConfigResourceType.BROKER: "brokers",
    ConfigResourceType.GROUP: "groups",
    ConfigResourceType.CLIENT_METRICS: "client-metrics",
}
"""The last two are ours: a 3.9 has such settings only without ZooKeeper."""
_TYPES_OF_FOLDERS = {folder: type for type, folder in CONFIG_FOLDERS.items()}
DEFAULT_NAME: Final = "<default>"
"""Stands for all that have no settings of their own."""

PERSISTENT: Final = (
    "/consumers",
    "/brokers",
    BROKER_IDS,
    TOPICS,
    CONFIG,
    CONFIG_CHANGES,
    "/admin",
    DELETE_TOPICS,
    "/brokers/seqid",
    "/isr_change_notification",
    PRODUCER_IDS,
    FOLDER_EVENTS,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
    "/cluster",
)
"""What every cluster has, parents first."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_RECOVERING = 1
T = TypeVar("T")


def topic_path(topic: str) -> str:
    """Of a topic's assignment."""
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    """Above a topic's partitions."""
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    """Above the state of one."""
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    """Of leader and ISR."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def broker_path(id: BrokerId) -> str:
    """Of a registration."""
    return f"{BROKER_IDS}/{id}"


def config_path(resource: ConfigResource) -> str | None:
    """Of its settings; None for a type that ZooKeeper has no place for."""
    folder = CONFIG_FOLDERS.get(resource.type)
    if folder is None:
        return None
    name = resource.name
    if resource.type == ConfigResourceType.BROKER and not name:
        name = DEFAULT_NAME
    return f"{CONFIG}/{folder}/{name}"


def config_resource(path: str) -> ConfigResource | None:
    """The inverse of `config_path`; None for a path that is no such resource's."""
    parts = path.split("/")
    type = _TYPES_OF_FOLDERS.get(parts[2]) if len(parts) == 4 else None
    if type is None:
        return None
    is_default = type == ConfigResourceType.BROKER and parts[3] == DEFAULT_NAME
    return ConfigResource(type, "" if is_default else parts[3])


class BrokerNode(NamedTuple):
    """`/brokers/ids/N`."""

    endpoints: tuple[Endpoint, ...]
    features: tuple[tuple[str, VersionRange], ...] = ()
    rack: str | None = None


def write_broker(node: BrokerNode, now_ms: int) -> bytes:
    """In version 5. The oldest clients read host and port, of the plain listener if there is
    one."""
    plain = next((e for e in node.endpoints if e.security_protocol == 0), None)
    content: dict[str, object] = {
        "features": {
            name: {"min_version": levels.min, "max_version": levels.max}
            for name, levels in node.features
        },
        "listener_security_protocol_map": {
            e.name: _PROTOCOLS[e.security_protocol] for e in node.endpoints
        },
        "endpoints": [f"{e.name}://{_bracketed(e.host)}:{e.port}" for e in node.endpoints],
        "jmx_port": -1,
        "port": -1 if plain is None else plain.port,
        "host": None if plain is None else plain.host,
        "version": 5,
        "timestamp": str(now_ms),
    }
    if node.rack is not None:
        content["rack"] = node.rack
    return _json(content)


def read_broker(data: bytes | None) -> BrokerNode:
    """Of version 4 or 5, which every Kafka since 0.10 has written."""
    content = _object(data)
    protocols: Mapping[str, str] = content.get("listener_security_protocol_map") or {}
    features = content.get("features") or {}
    return _read(
        lambda: BrokerNode(
            endpoints=tuple(_endpoint(text, protocols) for text in content["endpoints"]),
            features=tuple(
                (name, VersionRange(int(levels["min_version"]), int(levels["max_version"])))
                for name, levels in features.items()
            ),
            rack=content.get("rack"),
        )
    )


class Assignment(NamedTuple):
    """Where one partition is, and on its way to."""

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()


class TopicNode(NamedTuple):
    """`/brokers/topics/T`."""

    id: Uuid | None
    """None when a Kafka before 2.8 made the topic: the controller gives it one."""
    partitions: tuple[Assignment, ...]


def write_topic(node: TopicNode) -> bytes:
    """In version 3."""
    assert node.id is not None, "a topic without an id is not ours to write"
    partitions = list(enumerate(node.partitions))
    return _json(
        {
            "partitions": {str(i): each.replicas for i, each in partitions},
            "topic_id": format_uuid(node.id),
            "adding_replicas": {str(i): each.adding for i, each in partitions if each.adding},
            "removing_replicas": {str(i): each.removing for i, each in partitions if each.removing},
            "version": 3,
        }
    )


def read_topic(data: bytes | None) -> TopicNode:
    """Of any version."""
    content = _object(data)
    adding = content.get("adding_replicas") or {}
    removing = content.get("removing_replicas") or {}
    assigned: Mapping[str, Sequence[int]] = content.get("partitions") or {}

    def partition(index: int) -> Assignment:
        key = str(index)
        return Assignment(
            ids(assigned[key]), ids(adding.get(key) or ()), ids(removing.get(key) or ())
        )

    text = content.get("topic_id")
    return _read(
        lambda: TopicNode(
            None if text is None else parse_uuid(text),
            tuple(partition(index) for index in range(len(assigned))),
        )
    )


class StateNode(NamedTuple):
    """`/brokers/topics/T/partitions/P/state`."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: ControllerEpoch
    recovery_state: int = 0
    """1 after an unclean election (KIP-704)."""


def write_state(node: StateNode) -> bytes:
    """In version 1."""
    content: dict[str, object] = {
        "controller_epoch": node.controller_epoch,
        "leader": node.leader,
        "version": 1,
        "leader_epoch": node.leader_epoch,
        "isr": node.isr,
    }
    if node.recovery_state == _RECOVERING:
        content["leader_recovery_state"] = node.recovery_state
    return _json(content)


def read_state(data: bytes | None) -> StateNode:
    """The inverse of `write_state`."""
    content = _object(data)
    return _read(
        lambda: StateNode(
            BrokerId(int(content["leader"])),
            LeaderEpoch(int(content["leader_epoch"])),
            ids(content["isr"]),
            ControllerEpoch(int(content["controller_epoch"])),
            int(content.get("leader_recovery_state", 0)),
        )
    )


def write_controller(id: BrokerId, now_ms: int) -> bytes:
    """Of `/controller`, in version 2."""
    return _json(
        {"version": 2, "brokerid": id, "timestamp": str(now_ms), "kraftControllerEpoch": -1}
    )


def read_controller(data: bytes | None) -> BrokerId:
    """Who the controller is."""
    content = _object(data)
    return _read(lambda: BrokerId(int(content["brokerid"])))


def write_cluster_id(cluster_id: str) -> bytes:
    """Of `/cluster/id`."""
    return _json({"version": "1", "id": cluster_id})


def read_cluster_id(data: bytes | None) -> str:
    """The inverse of `write_cluster_id`."""
    content = _object(data)
    return _read(lambda: str(content["id"]))


def write_feature() -> bytes:
    """Of `/feature`, as a 3.9 in ZooKeeper mode leaves it: it finalizes none."""
    return _json({"features": {}, "version": 2, "status": 1})


def write_config(values: Mapping[str, str]) -> bytes:
    """Of `/config/TYPE/NAME`."""
    return _json({"version": 1, "config": dict(values)})


def read_config(data: bytes | None) -> dict[str, str]:
    """The inverse of `write_config`; nothing is set in an empty znode."""
    if not data:
        return {}
    content = _object(data)
    return _read(lambda: {str(key): str(value) for key, value in content["config"].items()})


def write_config_change(resource: ConfigResource) -> bytes:
    """Of `/config/changes/config_change_N`, in version 2."""
    path = config_path(resource)
    assert path is not None
    return write_change_at(path)


def write_change_at(path: str) -> bytes:
    """As `write_config_change`, for whatever stands below `/config`."""
    return _json({"version": 2, "entity_path": path.removeprefix(f"{CONFIG}/")})


def read_config_change(data: bytes | None) -> str:
    """The path of the settings that changed."""
    content = _object(data)
    return _read(lambda: f"{CONFIG}/{content['entity_path']}")


def write_folder_event(broker: BrokerId) -> bytes:
    """Of `/log_dir_event_notification/log_dir_event_N`: a log folder of that broker has failed,
    which is the only event there is."""
    return _json({"version": 1, "broker": broker, "event": 1})


def read_folder_event(data: bytes | None) -> BrokerId:
    """The inverse of `write_folder_event`."""
    content = _object(data)
    return _read(lambda: BrokerId(int(content["broker"])))


def write_producer_ids(broker: BrokerId, first: ProducerId, last: ProducerId) -> bytes:
    """Of `/latest_producer_id_block`; `last` is inclusive, as in Kafka."""
    return _json(
        {"version": 1, "broker": broker, "block_start": str(first), "block_end": str(last)}
    )


def read_next_producer_id(data: bytes | None) -> ProducerId:
    """The first id that no block has; 0 before the first block."""
    if not data:
        return ProducerId(0)
    content = _object(data)
    return _read(lambda: ProducerId(int(content["block_end"]) + 1))


def read_partitions(data: bytes | None) -> tuple[TopicPartition, ...]:
    """Of `/admin/preferred_replica_election`: which want their preferred leader."""
    content = _object(data)
    return _read(
        lambda: tuple(
            TopicPartition(str(each["topic"]), int(each["partition"]))
            for each in content["partitions"]
        )
    )


def read_reassignments(data: bytes | None) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Of `/admin/reassign_partitions`: where each partition is to go."""
    content = _object(data)
    return _read(
        lambda: {
            TopicPartition(str(each["topic"]), int(each["partition"])): ids(each["replicas"])
            for each in content["partitions"]
        }
    )


def write_reassignments(
    wanted: Iterable[tuple[TopicPartition, tuple[BrokerId, ...]]],
) -> bytes:
    """The inverse of `read_reassignments`."""
    return _json(
        {
            "version": 1,
            "partitions": [
                {"topic": each.topic, "partition": each.partition, "replicas": replicas}
                for each, replicas in wanted
            ],
        }
    )


def _json(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _object(data: bytes | None) -> dict[str, Any]:  # Any: JSON.
    try:
        content = json.loads(data or b"null")
    except RecursionError as error:
        raise ValueError(f"not what Kafka writes there: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"not a JSON object: {data!r:.100}")
    return content


def _read(read: Callable[[], T]) -> T:
    """What `read` makes of JSON that may have any shape."""
    try:
        return read()
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not what Kafka writes there: {error!r}") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    name, found, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not found or not colon:
        raise ValueError(f"not an endpoint: {text!r}")
    protocol = _PROTOCOLS.index(protocols.get(name, name))
    return Endpoint(name, host.removeprefix("[").removesuffix("]"), int(port), protocol)

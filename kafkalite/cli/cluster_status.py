"""`kafkalite cluster status`: brokers, the controller, who leads what, who is in sync, and how far
the others are behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.output import Column, Output, Row, console, counted, print_json, print_table

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

_BROKERS = (
    Column("BROKER", "broker", is_number=True),
    Column("ADDRESS", "address"),
    Column("RACK", "rack"),
    Column("STATE", "state"),
    Column("LEADS", "leads", is_number=True),
    Column("REPLICAS", "replicas", is_number=True),
    Column("OUT OF SYNC", "out_of_sync", is_number=True),
)
_PARTITIONS = (
    Column("TOPIC", "topic", style="bold"),
    Column("PARTITION", "partition", is_number=True),
    Column("LEADER", "leader", is_number=True),
    Column("REPLICAS", "replicas"),
    Column("IN SYNC", "in_sync_replicas"),
    Column("BYTES BEHIND", "bytes_behind", is_number=True),
)
_WITHOUT_LEADER = -1


def status(
    *,
    all: bool = False,
    watch: Annotated[float | None, Parameter(validator=from_to(0.1, 3600))] = None,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Show the brokers, the controller, and the partitions whose replicas are not all in sync.

    BYTES BEHIND is what the last of a partition's followers has less on its disk than the leader.

    Args:
        all: every partition, internal topics' too
        watch: show it anew every so many seconds, until Ctrl-C
    """
    if watch is not None and output.json:
        raise WrongUseError("--watch and --json cannot go together; use one of them")
    with connection.admin() as admin:
        if watch is None:
            _show(_status(admin), all, output)
            return
        while True:
            found = _status(admin)
            console().clear()
            _show(found, all, output)
            Event().wait(watch)


def _show(found: Mapping[str, Any], all: bool, output: Output) -> None:  # Any: see `_status`.
    if output.json:
        print_json(found)
        return
    print_table(_BROKERS, [_shown(each) for each in found["brokers"]])
    partitions = [each for each in found["partitions"] if all or not _is_well(each)]
    print()
    if partitions:
        print_table(_PARTITIONS, partitions)
    else:
        number = counted(len(found["partitions"]), "partition")
        print(f"{number}, all replicas in sync; --all shows them")


def _shown(broker: Row) -> Row:
    state = "controller" if broker["controller"] else "gone" if broker["fenced"] else "live"
    return {**broker, "state": state}


def _is_well(partition: Mapping[str, Any]) -> bool:
    """`Any`: as `_status`."""
    return (
        partition["leader"] is not None
        and len(partition["in_sync_replicas"]) == len(partition["replicas"])
        and not partition["bytes_behind"]
    )


def _status(admin: KafkaAdminClient) -> dict[str, Any]:
    """One document. `Any`: rows of several kinds, for JSON."""
    cluster = admin.describe_cluster()
    topics = admin.describe_topics()
    sizes = _sizes(admin)
    partitions = sorted(
        (
            _partition(topic["name"], each, sizes)
            for topic in topics
            for each in topic["partitions"]
        ),
        key=lambda row: (row["topic"], row["partition"]),
    )
    controller = _controller(admin, cluster["controller_id"])
    brokers = [_broker(each, controller, partitions) for each in cluster["brokers"]]
    known = {each["broker"] for each in brokers}
    gone = {id for each in partitions for id in each["replicas"] if id not in known}
    brokers += [_gone(id, partitions) for id in gone]
    return {
        "cluster_id": cluster["cluster_id"],
        "controller": controller if controller >= 0 else None,
        "brokers": sorted(brokers, key=lambda row: row["broker"]),
        "partitions": partitions,
    }


def _controller(admin: KafkaAdminClient, told: int) -> int:
    """Who decides: the leader of the quorum. Other answers name any broker, but for those of a
    Kafka with ZooKeeper, which has no quorum."""
    from kafka.errors import KafkaError, UnsupportedVersionError

    try:
        (topic,) = admin.describe_metadata_quorum()["topics"]
    except (KafkaError, UnsupportedVersionError, ValueError):
        return told
    (partition,) = topic["partitions"]
    leader: int = partition["leader_id"]
    return leader


def _id_of(broker: Mapping[str, Any]) -> int:
    """`Any`: kafka-python's own words for an answer."""
    id = broker.get("node_id", broker.get("broker_id"))
    assert isinstance(id, int), broker
    return id


def _broker(
    answer: Mapping[str, Any], controller: int, partitions: Iterable[Mapping[str, Any]]
) -> Row:
    """`Any`: as `_id_of`."""
    id = _id_of(answer)
    return {
        "broker": id,
        "address": f"{answer['host']}:{answer['port']}",
        "rack": answer.get("rack"),
        "controller": id == controller,
        "fenced": bool(answer.get("is_fenced")),
        **_kept(id, partitions),
    }


def _gone(id: int, partitions: Iterable[Mapping[str, Any]]) -> Row:
    """A broker of which only replicas tell: ZooKeeper does not remember those that are not alive.
    `Any`: as `_id_of`."""
    row = {"broker": id, "address": None, "rack": None, "controller": False, "fenced": True}
    return {**row, **_kept(id, partitions)}


def _kept(id: int, partitions: Iterable[Mapping[str, Any]]) -> Row:
    """`Any`: as `_id_of`."""
    kept = [each for each in partitions if id in each["replicas"]]
    return {
        "leads": sum(each["leader"] == id for each in kept),
        "replicas": len(kept),
        "out_of_sync": sum(id not in each["in_sync_replicas"] for each in kept),
    }


def _partition(
    topic: str, answer: Mapping[str, Any], sizes: Mapping[tuple[int, str, int], int]
) -> dict[str, Any]:
    """`Any`: as `_id_of`. `bytes_behind` is None where nobody knows."""
    number, leader = answer["partition_index"], answer["leader_id"]
    replicas = list(answer["replica_nodes"])
    known = [sizes.get((id, topic, number)) for id in replicas]
    led = sizes.get((leader, topic, number))
    least = min((size for size in known if size is not None), default=None)
    return {
        "topic": topic,
        "partition": number,
        "leader": None if leader == _WITHOUT_LEADER else leader,
        "replicas": replicas,
        "in_sync_replicas": list(answer["isr_nodes"]),
        "bytes_behind": None if led is None or least is None else max(0, led - least),
    }


def _sizes(admin: KafkaAdminClient) -> dict[tuple[int, str, int], int]:
    """Bytes on the disk, by broker, topic and partition."""
    found = {}
    for broker in admin.describe_log_dirs():
        for folder in broker["log_dirs"]:
            for topic in folder["topics"]:
                for each in topic["partitions"]:
                    key = (broker["broker"], topic["name"], each["partition_index"])
                    found[key] = each["partition_size"]
    return found

"""A session as every Kafka book shows it, over a real ZooKeeper: with Kafka 2.6's own tools, and
each znode held against those of a real cluster at the same moment (`tests/data/zookeeper`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_tests.zookeeper_cluster import ZooKeeperCluster
from kafkalite.cli.main import main
from tests.stores.golden_znodes import moment

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

TOPIC = "my-replicated-topic"


def leaders(state: dict[str, Any]) -> tuple[int, int, list[int]]:  # Any: JSON.
    """Leader, leader epoch, and ISR in its order."""
    return state["leader"], state["leader_epoch"], state["isr"]


def wanted(name: str, topic: str) -> dict[int, tuple[int, int, list[int]]]:
    """By partition, at that golden moment."""
    golden = moment(name)
    found = {}
    for partition in range(3):
        node = golden.get(f"/brokers/topics/{topic}/partitions/{partition}/state")
        if node is not None and node.data is not None:
            found[partition] = leaders(json.loads(node.data))
    return found


def reaches(cluster: ZooKeeperCluster, name: str, topic: str) -> None:
    """Its partitions come to stand as at that golden moment, and so does its assignment."""
    states = wanted(name, topic)
    assert states

    def is_there() -> bool:
        now = {each: cluster.state(topic, each) for each in states}
        return all(now.values()) and {e: leaders(s) for e, s in now.items()} == states

    cluster.wait(is_there, f"{topic} is not as in {name}")
    theirs = json.loads(moment(name)[f"/brokers/topics/{topic}"].data or b"")
    ours = cluster.json(f"/brokers/topics/{topic}")
    assert {**ours, "topic_id": ""} == {**theirs, "topic_id": ""}
    config = f"/config/topics/{topic}"
    assert cluster.data(config) == moment(name)[config].data


def delete_while_away(cluster: ZooKeeperCluster, gone: int, tmp_path: Path) -> None:
    """Moments 7 and 8: a topic of which a broker that is dead has a partition."""
    (kept,) = (
        p for p, ids in cluster.json("/brokers/topics/cfg")["partitions"].items() if gone in ids
    )
    folder = tmp_path / f"lite-{gone}" / f"cfg-{kept}"
    assert folder.is_dir()
    cluster.tool("TopicCommand", "--delete", "--topic", "cfg")
    cluster.wait(
        lambda: all(cluster.state("cfg", each)["leader"] == -1 for each in range(3)),
        "it is led still",
    )

    cluster.start_lite(gone)
    cluster.wait(
        lambda: all(len(cluster.state(TOPIC, each)["isr"]) == 3 for each in range(3)),
        "not all are in sync again",
    )
    for path in ("/brokers/topics/cfg", "/config/topics/cfg", "/admin/delete_topics/cfg"):
        cluster.wait(lambda path=path: cluster.data(path) is None, f"{path} stays")  # type: ignore[misc]  # A loop's value.
    assert not folder.exists()
    assert not list(folder.parent.glob("*stray*"))


def test_the_books_session(cluster: ZooKeeperCluster, tmp_path: Path) -> None:
    cluster.start_lite(0, 1, 2)
    for path, node in moment("1-three-brokers-up").items():
        if node.data is None and not path.startswith("/brokers/topics/"):
            assert cluster.is_there(path), path
            assert cluster.data(path) is None or path == "/", path

    cluster.tool(
        "TopicCommand", "--create", "--topic", TOPIC, "--replica-assignment", "0:2:1,2:1:0,1:0:2"
    )
    compacted = ("--config", "cleanup.policy=compact")
    assigned = ("--replica-assignment", "1")
    cluster.tool("TopicCommand", "--create", "--topic", "cfg", *assigned, *compacted)
    reaches(cluster, "1-three-brokers-up", TOPIC)
    reaches(cluster, "1-three-brokers-up", "cfg")
    described = cluster.tool("TopicCommand", "--describe", "--topic", TOPIC)
    assert "Partition: 1\tLeader: 2\tReplicas: 2,1,0\tIsr: 2,1,0" in described

    grown = ("--partitions", "3", "--replica-assignment", "1,2,0")
    cluster.tool("TopicCommand", "--alter", "--topic", "cfg", *grown)
    reaches(cluster, "2-partitions-added", "cfg")

    cluster.kill(1)
    reaches(cluster, "3-broker-1-killed", TOPIC)
    reaches(cluster, "3-broker-1-killed", "cfg")

    cluster.start_lite(1)
    reaches(cluster, "4-broker-1-back", TOPIC)
    reaches(cluster, "4-broker-1-back", "cfg")

    cluster.tool("PreferredReplicaLeaderElectionCommand")
    reaches(cluster, "5-preferred-election", TOPIC)
    cluster.wait(
        lambda: cluster.data("/admin/preferred_replica_election") is None, "the wish stays"
    )

    epoch = int(cluster.data("/controller_epoch") or b"")
    gone = cluster.controller()
    cluster.kill(gone)
    cluster.wait(lambda: cluster.controller() not in (gone, -1), "nobody else is controller")
    assert int(cluster.data("/controller_epoch") or b"") == epoch + 1
    cluster.wait(
        lambda: all(gone not in cluster.state(TOPIC, each)["isr"] for each in range(3)),
        "the new controller leaves the old one in sync",
    )
    delete_while_away(cluster, gone, tmp_path)
    assert [cluster.lite[id].stop() for id in (0, 1, 2)] == [0, 0, 0]
    cluster.lite.clear()
    assert cluster.data("/brokers/ids/1") is None


def test_old_tools_set_and_move(
    cluster: ZooKeeperCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.start_lite(0, 1, 2)
    cluster.tool("TopicCommand", "--create", "--topic", "moved", "--replica-assignment", "0")
    of_topic = ("--entity-type", "topics", "--entity-name", "moved")
    cluster.tool("ConfigCommand", "--alter", *of_topic, "--add-config", "retention.ms=12345")

    def is_told() -> bool:
        words = ["configs", "describe", "topic", "moved", "--bootstrap", cluster.addresses[2]]
        return main(words) == 0 and "12345" in capsys.readouterr().out

    cluster.wait(is_told, "the setting is not told")
    wanted = tmp_path / "wanted.json"
    wanted.write_text(
        '{"version":1,"partitions":[{"topic":"moved","partition":0,"replicas":[1,2]}]}'
    )
    execute = ("--reassignment-json-file", str(wanted), "--execute")
    cluster.tool("ReassignPartitionsCommand", *execute)
    cluster.wait(lambda: cluster.data("/admin/reassign_partitions") is None, "it does not move")
    assert cluster.json("/brokers/topics/moved")["partitions"] == {"0": [1, 2]}
    leader, _, isr = leaders(cluster.state("moved", 0))
    assert (leader, sorted(isr)) == (1, [1, 2])

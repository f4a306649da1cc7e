"""kafka-reassign-partitions moves replicas to other brokers, into log folders that it names, no
faster than it says: on three broker processes with two log folders each, over a real ZooKeeper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer

from compat_tests.java.tools import Printed, run
from compat_tests.zookeeper_cluster import LiteBroker, ZooKeeperCluster
from kafkalite.cli.main import main

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

IDS = (1, 2, 3)
TOPIC = "moved"
RECORDS = 300
RECORD = bytes(10_000)
THROTTLE = 2_000_000
"""Bytes per second, so that the move takes a second or two."""


@pytest.fixture
def cluster(cluster: ZooKeeperCluster, tmp_path: Path) -> ZooKeeperCluster:
    """Three brokers with two log folders each."""
    for id in IDS:
        folders = [folder(tmp_path, id, letter) for letter in "ab"]
        data = tmp_path / f"lite-{id}"
        cluster.lite[id] = LiteBroker(id, data, cluster.hosts, folders=folders)
    for id in IDS:
        cluster.addresses[id] = cluster.lite[id].wait_ready()
    return cluster


def folder(root: Path, id: int, letter: str) -> Path:
    return root / f"broker-{id}-{letter}"


def fill(cluster: ZooKeeperCluster) -> None:
    words = ["topics", "create", f"{TOPIC}:1", "--replication-factor", "1"]
    assert main([*words, "--bootstrap", cluster.bootstrap]) == 0
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for _ in range(RECORDS):
        producer.produce(TOPIC, RECORD)
    assert producer.flush(60) == 0


def reassigned(cluster: ZooKeeperCluster, plan: Path, *words: str) -> Printed:
    at = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan))
    printed = run("kafka-reassign-partitions", [*at, *words])
    assert printed.status == 0, printed
    return printed


def test_replicas_go_where_the_tool_says(cluster: ZooKeeperCluster, tmp_path: Path) -> None:
    fill(cluster)
    before = cluster.state(TOPIC, 0)["leader"]
    here, there = (id for id in IDS if id != before)
    wanted = [folder(tmp_path, here, "b"), folder(tmp_path, there, "a")]
    move = {
        "topic": TOPIC,
        "partition": 0,
        "replicas": [here, there],
        "log_dirs": [str(each) for each in wanted],
    }
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
    begun = reassigned(cluster, plan, "--execute", "--throttle", str(THROTTLE))
    assert f"The inter-broker throttle limit was set to {THROTTLE} B/s" in begun.stdout, begun
    assert "Successfully started partition reassignment for moved-0" in begun.stdout, begun
    for id, place in zip((here, there), wanted, strict=True):
        moving = f"moving log directory to {place} for replica {TOPIC}-0 with broker {id}"
        assert f"Successfully started {moving}" in begun.stdout, begun
    cluster.wait(
        lambda: sorted(cluster.state(TOPIC, 0)["isr"]) == sorted((here, there)), "not moved"
    )
    told = reassigned(cluster, plan, "--verify").stdout
    assert "Reassignment of partition moved-0 is completed." in told, told
    for id, place in zip((here, there), wanted, strict=True):
        ended = f"Reassignment of replica moved-0-{id} completed successfully."
        assert ended in told, told
        (log,) = (place / f"{TOPIC}-0").glob("*.log")
        assert log.stat().st_size > RECORDS * len(RECORD)
    assert f"Clearing broker-level throttles on brokers {','.join(map(str, IDS))}" in told, told
    assert f"Clearing topic-level throttles on topic {TOPIC}" in told, told
    assert cluster.json(f"/config/topics/{TOPIC}").get("config", {}) == {}

"""kafka-python on a cluster of three whose leader dies: nothing is lost, nothing doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from kafkalite.testing import Cluster

pytestmark = pytest.mark.needs_process

PROGRAM = Path(__file__).with_name("riding_producer.py")
WITHIN_S = 90
RECORDS = 300


def test_the_leader_dies() -> None:
    with Cluster(topics={"t": 1}) as cluster:
        leader = cluster.leader_of("t")
        assert leader is not None
        with subprocess.Popen(
            [sys.executable, PROGRAM, cluster.bootstrap, "t", str(RECORDS)],
            stdout=subprocess.PIPE,
            text=True,
        ) as producer:
            assert producer.stdout is not None
            for _ in range(RECORDS // 3):
                assert producer.stdout.readline() == "acknowledged\n"
            cluster.kill(leader)
            rest = producer.stdout.read()  # With what the stream has taken in already.
            producer.wait(timeout=WITHIN_S)
        assert producer.returncode == 0
        assert json.loads(rest.splitlines()[-1]) == list(range(RECORDS))
        assert cluster.leader_of("t") not in (None, leader)
        cluster.restart(leader)
        cluster.wait_until_in_sync("t")
        consumer = KafkaConsumer(
            "t",
            bootstrap_servers=cluster.bootstrap.split(","),
            auto_offset_reset="earliest",
            group_id="g",
        )
        try:
            found = [int(next(consumer).value) for _ in range(RECORDS)]
        finally:
            consumer.close(autocommit=False)
        assert found == list(range(RECORDS))

"""A client in another language that sends while the leader dies: its program's `failover`, which
sends numbers until its input ends, each when the one before is acknowledged, and reads all back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

from kafkalite.testing import Cluster

TOPIC = "ridden"
TIMEOUT_S = 60


def ride(command: Sequence[str]) -> None:
    """`command` is the program and its library. `AssertionError` when it was told of anything that
    it could not try again, or a number is not there once and in its place."""
    with Cluster(topics={TOPIC: 1}, settings={"min.insync.replicas": "2"}) as cluster:
        leader = cluster.leader_of(TOPIC)
        assert leader is not None
        # Its first address is one that lives on: not all libraries take several as one text.
        bootstrap = next(cluster.address_of(id) for id in cluster.brokers if id != leader)
        process = subprocess.Popen(
            [*command, "failover", TOPIC],
            env={**os.environ, "BOOTSTRAP": bootstrap, "BASE_TIMESTAMP": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "sent\n", process.communicate()
            cluster.kill(leader)
            cluster.wait_until_leader(TOPIC, other_than=leader)
            cluster.restart(leader)
            cluster.wait_until_in_sync(TOPIC)
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
            process.communicate()
    facts = json.loads(stdout.splitlines()[-1])
    assert facts["ok"], (facts, stderr)
    assert facts["values"] == list(range(facts["sent"]))
    assert process.returncode == 0

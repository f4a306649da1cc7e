"""What a start does not load, and does not do, before the broker is ready: each would be paid by
everyone who waits for it (benchmarks/PROFILE.md, "Starts"). Nothing here measures time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.serving import environment

STARTED = """
import asyncio, gc, json, os, signal, sys
from kafkalite.cli import readiness
from kafkalite.cli.main import main

def told(ready):
    print(json.dumps({"modules": list(sys.modules), "collects": gc.isenabled()}))
    asyncio.get_running_loop().call_soon(serves)
    return "ready"

def serves():
    print(json.dumps({"frozen": gc.get_freeze_count(), "collects": gc.isenabled()}))
    os.kill(os.getpid(), signal.SIGTERM)

readiness.Ready.line = told
main(["serve", "--port", "0", *sys.argv[1:]])
"""
LATE = {
    "dataclasses",
    "cyclopts",
    "rich",
    "kafka",
    "kazoo",
    "cryptography",
    "crc32c",
    "kafkalite.config.described_keys",
    "kafkalite.config.jaas",
    "kafkalite.config.sasl",
    "kafkalite.controller.events",
    "kafkalite.controller.replica_events",
    "kafkalite.controller.requests",
    "kafkalite.coordinator",
    "kafkalite.security.exchange",
    "kafkalite.security.mechanisms",
    "kafkalite.server.apis.create_topics",
    "kafkalite.server.cluster_link",
    "kafkalite.server.certificate_gate",
    "kafkalite.server.foreign_edits",
    "kafkalite.server.own_connections",
    "kafkalite.server.sasl_gate",
    "kafkalite.server.zookeeper_membership",
    "kafkalite.testing",
    "kafkalite.web",
}


@pytest.mark.parametrize("where", ["--ephemeral", "--data"])
def test_until_it_is_ready_a_start_does_what_it_must(where: str, tmp_path: Path) -> None:
    folder = [] if where == "--ephemeral" else [str(tmp_path / "data")]
    ended = subprocess.run(
        [sys.executable, "-c", STARTED, where, *folder],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    at_ready, _, afterwards = ended.stdout.splitlines()
    ready, serves = json.loads(at_ready), json.loads(afterwards)
    assert "kafkalite.server.broker" in ready["modules"]
    assert LATE & set(ready["modules"]) == set()
    assert not ready["collects"]
    assert serves["collects"]
    assert serves["frozen"] > 0

"""Three brokers of kafkalite over a real ZooKeeper when something is away for a while: a broker's
process is stopped for longer than its session lasts, ZooKeeper itself restarts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.test_zookeeper_mixed import Traffic, all_in_sync, create
from compat_tests.zookeeper_cluster import ZooKeeperCluster
from compat_tests.zookeeper_process import ZooKeeperProcess

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ZooKeeperProcess]:
    """Of the test's own, for it is ended."""
    process = ZooKeeperProcess(tmp_path / "zookeeper")
    yield process
    process.stop()


def test_a_controller_that_was_stopped_for_long_comes_back(cluster: ZooKeeperCluster) -> None:
    cluster.start_lite(1, 2, 3)
    create(cluster, "stopped", at=1)
    traffic = Traffic(cluster, "stopped")
    traffic.send()
    traffic.settle()
    controller = cluster.controller()
    registered = cluster.data(f"/brokers/ids/{controller}")
    cluster.lite[controller].signal(signal.SIGSTOP)
    cluster.wait(lambda: cluster.controller() not in (controller, -1), "nobody takes over")
    traffic.send()
    traffic.settle()
    cluster.lite[controller].signal(signal.SIGCONT)
    cluster.wait(
        lambda: cluster.data(f"/brokers/ids/{controller}") not in (None, registered),
        "it does not register again",
    )
    all_in_sync(cluster, "stopped")
    create(cluster, "after", at=controller)
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)


def test_records_flow_while_zookeeper_restarts(
    cluster: ZooKeeperCluster, ensemble: ZooKeeperProcess
) -> None:
    cluster.start_lite(1, 2, 3)
    create(cluster, "flow", at=1)
    traffic = Traffic(cluster, "flow")
    traffic.send()
    traffic.settle()
    ensemble.stop()
    traffic.send()
    traffic.settle()
    ensemble.restart()
    cluster.wait(
        lambda: all(cluster.data(f"/brokers/ids/{id}") is not None for id in (1, 2, 3)),
        "not all are back",
    )
    cluster.wait(lambda: cluster.controller() != -1, "no controller")
    all_in_sync(cluster, "flow")
    create(cluster, "after", at=2)
    traffic.send()
    traffic.settle()
    assert sorted(traffic.read_back()) == sorted(traffic.acknowledged)

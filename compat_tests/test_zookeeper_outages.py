"""Three brokers of kafkalite over a real ZooKeeper when something is away for a while: a broker's
process is stopped for longer than its session lasts, ZooKeeper itself restarts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.test_zookeeper_mixed import Traffic, all_in_sync, create
from compat_tests.zookeeper_cluster import LiteBroker, ZooKeeperCluster
from compat_tests.zookeeper_process import ZooKeeperProcess
from kafkalite.cli.main import main

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


def test_others_lead_what_was_in_a_log_folder_that_has_failed(
    cluster: ZooKeeperCluster, tmp_path: Path
) -> None:
    """First of a broker that is not the controller, then of the controller itself: each tells it by
    a znode, as Kafka's brokers do. A folder is taken away, and found to be of no use when it is to
    have one more partition."""
    ids = (1, 2)
    for id in ids:
        folders = [tmp_path / f"{id}-{name}" for name in "ab"]
        cluster.lite[id] = LiteBroker(id, tmp_path / f"lite-{id}", cluster.hosts, folders=folders)
    for id in ids:
        cluster.addresses[id] = cluster.lite[id].wait_ready()
    words = ["--replication-factor", "2", "--bootstrap", cluster.bootstrap]
    assert main(["topics", "create", "wide", "--partitions", "8", *words]) == 0
    cluster.wait(lambda: all(folders_of(tmp_path, each) for each in ids), "no folders yet")
    lost = {id: folders_of(tmp_path, id) for id in ids}
    controller = cluster.controller()
    other = 3 - controller
    lost_so_far: dict[int, set[int]] = {controller: set(), other: set()}
    for broken in (other, controller):
        folder = tmp_path / f"{broken}-b"
        folder.rename(tmp_path / f"{broken}-away")
        folder.write_text("no folder")
        lost_so_far[broken] = lost[broken]
        assert main(["topics", "create", f"more-{broken}", "--partitions", "4", *words]) == 0

        def is_led_elsewhere() -> bool:
            states = [cluster.state("wide", each) for each in range(8)]
            return all(
                state["leader"] not in [id for id in ids if each in lost_so_far[id]]
                for each, state in enumerate(states)
            )

        cluster.wait(is_led_elsewhere, f"broker {broken} leads still what it has lost")
    for each in range(8):
        left = [id for id in ids if each not in lost[id]]
        state = cluster.state("wide", each)
        assert state["leader"] in (left or [-1])
    cluster.wait(lambda: not cluster.names("/log_dir_event_notification"), "the znodes stay")


def folders_of(folder: Path, id: int) -> set[int]:
    """Partitions of the topic that the broker has in its second folder."""
    return {int(each.name.rpartition("-")[2]) for each in (folder / f"{id}-b").glob("wide-?")}

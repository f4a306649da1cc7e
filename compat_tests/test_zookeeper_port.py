"""The contract of the ZooKeeper port over a real ZooKeeper, which alone has chroot and users."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.zookeeper_process import KazooBench, ZooKeeperProcess
from kafkalite.ports.zookeeper import Connected, Create, Failure, Refused, SetData
from kafkalite.ports.zookeeper_kazoo import Ensemble, KazooZooKeeper
from tests.ports.test_zookeeper import *  # noqa: F403  # The contract: all its tests run here.
from tests.ports.test_zookeeper import Client, made

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]


@pytest.fixture
def bench(ensemble: ZooKeeperProcess) -> KazooBench:
    return KazooBench(ensemble.new_chroot())


def test_a_chroot_is_made_and_hides_the_rest(ensemble: ZooKeeperProcess) -> None:
    inner = ensemble.new_chroot()
    one = Client(KazooBench(inner))
    made(one, "/a")
    outer = Client(KazooBench(ensemble.address))
    below = "/" + inner.partition("/")[2]
    assert outer.names(below) == ("a",)
    assert one.names("/") == ("a",)
    outer.close()
    one.close()


def test_what_a_user_made_others_only_read(ensemble: ZooKeeperProcess) -> None:
    bench = KazooBench(ensemble.new_chroot())
    bench._kazoo = KazooZooKeeper(
        Ensemble(bench.hosts, digest="someone:secret"), bench.turns.deliver
    )
    owner = Client(bench)
    assert owner.multi(Create("/a", b"1")) == ("/a",)
    other = Client(KazooBench(bench.hosts))
    assert other.node("/a").data == b"1"
    assert other.multi(SetData("/a", b"2")) == Refused(Failure.NO_AUTH, SetData("/a", b"2"))
    assert isinstance(owner.multi(SetData("/a", b"3")), tuple)
    owner.close()
    other.close()


def test_a_session_survives_the_server(tmp_path: Path) -> None:
    process = ZooKeeperProcess(tmp_path / "zookeeper")
    port = int(process.address.rpartition(":")[2])
    try:
        one = Client(KazooBench(process.address))
        id = one.session.id
        one.multi(Create("/mine", ephemeral=True))
        process.stop()
        process = ZooKeeperProcess(tmp_path / "zookeeper", port=port)
        one.bench.turns.until(lambda: one.heard.count(Connected()) == 2, wait_s=30)
        assert one.session.id == id
        assert one.node("/mine").stat.ephemeral_owner == id
        one.close()
    finally:
        process.stop()

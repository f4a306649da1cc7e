"""The contract of the ZooKeeper port over a real ZooKeeper, which alone has chroot and users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.zookeeper_process import KazooBench, ZooKeeperProcess
from kafkalite.ports.zookeeper import Connected, Create, Failure, Refused, SetData
from kafkalite.ports.zookeeper_kazoo import Ensemble, KazooZooKeeper
from tests.ports.test_zookeeper import *  # noqa: F403  # The contract: all its tests run here.
from tests.ports.test_zookeeper import Client, made

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]


@pytest.fixture
def bench(ensemble: ZooKeeperProcess, open_bench: Callable[[str], KazooBench]) -> KazooBench:
    return open_bench(ensemble.new_chroot())


def test_a_chroot_is_made_and_hides_the_rest(
    ensemble: ZooKeeperProcess, open_bench: Callable[[str], KazooBench]
) -> None:
    inner = ensemble.new_chroot()
    one = Client(open_bench(inner))
    made(one, "/a")
    outer = Client(open_bench(ensemble.address))
    below = "/" + inner.partition("/")[2]
    assert outer.names(below) == ("a",)
    assert one.names("/") == ("a",)


def test_what_a_user_made_others_only_read(
    bench: KazooBench, open_bench: Callable[[str], KazooBench]
) -> None:
    bench._kazoo = KazooZooKeeper(
        Ensemble(bench.hosts, digest="someone:secret"), bench.turns.deliver
    )
    owner = Client(bench)
    assert owner.multi(Create("/a", b"1")) == ("/a",)
    other = Client(open_bench(bench.hosts))
    assert other.node("/a").data == b"1"
    assert other.multi(SetData("/a", b"2")) == Refused(Failure.NO_AUTH, SetData("/a", b"2"))
    assert isinstance(owner.multi(SetData("/a", b"3")), tuple)


def test_a_session_survives_the_server(
    tmp_path: Path, open_bench: Callable[[str], KazooBench]
) -> None:
    process = ZooKeeperProcess(tmp_path / "zookeeper")
    try:
        one = Client(open_bench(process.address))
        id = one.session.id
        one.multi(Create("/mine", ephemeral=True))
        process.stop()
        process.restart()
        one.bench.turns.until(lambda: one.heard.count(Connected()) == 2)
        assert one.session.id == id
        assert one.node("/mine").stat.ephemeral_owner == id
        one.close()
    finally:
        process.stop()

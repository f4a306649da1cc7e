"""What only the twin can do: lose its connection on demand."""

from __future__ import annotations

from kafkalite.ports.zookeeper import Changed, Connected, Create, Disconnected, Failure, SetData
from tests.ports.test_zookeeper import Client, made
from tests.ports.zookeeper_kinds import MemoryBench


def test_a_lost_connection_fails_what_is_asked_and_ends_watches() -> None:
    bench = MemoryBench()
    one, two = Client(bench), Client(bench)
    made(two, "/a")
    two.multi(Create("/mine", ephemeral=True))
    two.get("/a", watch=True)
    bench.zookeeper.disconnect(two.session.id)
    assert two.get("/a") is Failure.CONNECTION_LOST
    one.multi(SetData("/a", b"1"))
    bench.zookeeper.reconnect(two.session.id)
    assert two.node("/a").data == b"1"
    assert two.heard == [Connected(), Disconnected(), Connected()]
    assert Changed("/a") not in two.heard
    assert one.node("/mine").stat.ephemeral_owner == two.session.id

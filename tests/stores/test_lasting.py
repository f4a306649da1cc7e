from __future__ import annotations

from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.store import BrokerJoined, CommitResult, Elected, SessionLost
from kafkalite.stores.lasting import LastingStore
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId, ControllerEpoch
from tests.controller.sample_cluster import broker_registration
from tests.metadata.listener import Listener
from tests.metadata.sample_changes import topic

ONE, TWO = BrokerId(1), BrokerId(2)


class Member(Listener):
    def __init__(self, store: LastingStore | MemoryStore, id: BrokerId) -> None:
        super().__init__()
        self.session = store.open_session(id, self.heard.append)
        self.session.watch(self.watch)
        self.session.register(broker_registration(id))
        self.session.run_for_controller()

    def commit(self, number: int) -> None:
        done: list[CommitResult] = []
        epoch = ControllerEpoch(self.images[-1].epoch)
        self.session.commit(epoch, (topic(f"t-{number}", number),), done.append)


def test_a_lost_session_goes_on_as_another() -> None:
    memory = MemoryStore("cluster", SteerableClock())
    one, two = Member(memory, ONE), Member(LastingStore(memory), TWO)
    one.commit(1)
    memory.expire(TWO)
    assert [*map(type, two.heard)] == [SessionLost]
    joined = one.heard[-1]
    assert isinstance(joined, BrokerJoined)
    assert joined.broker.registration == broker_registration(2)
    assert two.deltas[-1] == MetadataDelta(), "it knows all that already"
    one.commit(2)
    assert [each.name for each in two.deltas[-1].created] == ["t-2"]
    one.session.close()
    assert any(isinstance(event, Elected) for event in two.heard)


def test_who_resigned_is_no_candidate_again() -> None:
    memory = MemoryStore("cluster", SteerableClock())
    two = Member(LastingStore(memory), TWO)
    two.session.resign()
    memory.expire(TWO)
    assert [type(event) for event in two.heard].count(Elected) == 1


def test_a_closed_session_stays_closed() -> None:
    memory = MemoryStore("cluster", SteerableClock())
    store = LastingStore(memory)
    assert store.cluster_id == "cluster"
    two = Member(store, TWO)
    two.session.close()
    again = memory.open_session(TWO, lambda event: None)
    again.close()
    loaded: list[object] = []
    three = Member(store, TWO)
    three.session.load(loaded.append)
    assert len(loaded) == 1
    store.close()

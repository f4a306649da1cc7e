"""Terms of a controller over ZooKeeper, and the sessions under them: what ends them, and what is
found after."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    BrokerJoined,
    BrokerLeft,
    CommitFailed,
    CommitFailure,
    Committed,
    Deposed,
    Elected,
    SessionLost,
    TopicAssigned,
)
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Create, Delete, Failure, Operation, Refused, SetData
from kafkalite.protocol.messages.metadata_records import (
    ProducerIdsRecord,
)
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import (
    NO_BROKER_EPOCH,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ProducerId,
)
from tests.controller.sample_cluster import broker_registration
from tests.metadata.sample_changes import changed, partition, topic, uuid
from tests.stores.zookeeper_cluster import Cluster, Member


def test_a_commit_that_stopped_amid_is_found_again(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    cluster.fill(
        {
            "/brokers/topics/t": znodes.write_topic(
                znodes.TopicNode(uuid(1), (znodes.Assignment((BrokerId(1),)),) * 2)
            ),
            "/brokers/topics/t/partitions/0/state": b'{"controller_epoch":1,"leader":1,"version":1'
            b',"leader_epoch":0,"isr":[1]}',
        }
    )
    two = Member(cluster, 2)
    one.session.close()
    cluster.turns.drain()
    found = [event for event in two.news() if isinstance(event, TopicAssigned)]
    assert found == [TopicAssigned("t", uuid(1), ((BrokerId(1),),) * 2, 1)]
    two.heard.append(Elected(two.image.epoch))
    assert isinstance(two.commit(partition(1, 1, [1])), Committed)
    assert len(two.image.topics["t"].partitions) == 2


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_state_that_another_has_set_ends_the_term(cluster: Cluster, *, is_seen: bool) -> None:
    """What was decided was decided on another one: by the store's broker it may be seen already."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    path = znodes.state_path("t", 0)
    cluster.hand.multi([SetData(path, cluster.data(path))], lambda done: None)
    if is_seen:
        cluster.turns.drain()
        assert one.image.topics["t"].partitions[0].partition_epoch == 1
    refused = one.commit(changed(uuid(1), 0, leader=-1))
    assert refused == CommitFailed(CommitFailure.FENCED, f"the znode has another version ({path})")
    assert one.heard[-1] == Elected(ControllerEpoch(2)), "it reads all anew, in a new term"
    assert isinstance(one.commit(changed(uuid(1), 0, leader=-1)), Committed)


def test_what_another_set_is_gone_with_its_topic(cluster: Cluster) -> None:
    """One of that name, which comes later, has states of its own: its first change is done."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    one.commit(changed(uuid(1), 0, leader=-1))
    path = znodes.state_path("t", 0)
    cluster.write(SetData(path, cluster.data(path)))
    folder = path.removesuffix("/state")
    above = [folder, folder.rpartition("/")[0], "/brokers/topics/t"]
    cluster.write(*map(Delete, [path, *above]))
    one.commit(topic("t", 2), partition(2, 0, [1]))
    assert isinstance(one.commit(changed(uuid(2), 0, leader=-1)), Committed)
    assert one.heard[-1] == Elected(ControllerEpoch(1))


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_block_of_producer_ids_that_another_has_taken_ends_the_term(
    cluster: Cluster, *, is_seen: bool
) -> None:
    """As Kafka's brokers do by themselves with an `inter.broker.protocol.version` below 3.0."""
    one = Member(cluster, 1)
    taken = ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1_000)
    theirs = znodes.write_producer_ids(BrokerId(3), ProducerId(0), ProducerId(999))
    cluster.hand.multi([SetData(znodes.PRODUCER_IDS, theirs)], lambda done: None)
    if is_seen:
        cluster.turns.drain()
        assert one.image.next_producer_id == 1_000
    assert isinstance(one.commit(taken), CommitFailed)
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    assert one.image.next_producer_id == 1_000
    taken.next_producer_id = 2_000
    assert isinstance(one.commit(taken), Committed)
    assert cluster.data(znodes.PRODUCER_IDS) == znodes.write_producer_ids(
        BrokerId(1), ProducerId(1_000), ProducerId(1_999)
    )


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_whose_answer_is_lost_ends_the_term(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, *, is_done: bool
) -> None:
    """Nobody knows what became of it, until everything is read anew."""
    one = Member(cluster, 1)
    session = one.session._zookeeper
    multi = session.multi

    def lose(operations: Sequence[Operation], on_done: Callable[[Refused], None]) -> None:
        monkeypatch.undo()
        if is_done:
            multi(operations, lambda result: None)
        cluster.turns.deliver(lambda: on_done(Refused(Failure.CONNECTION_LOST)))

    monkeypatch.setattr(session, "multi", lose)
    refused = one.commit(topic("t", 1), partition(1, 0, [1]))
    assert isinstance(refused, CommitFailed)
    assert refused.failure is CommitFailure.SESSION_LOST
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    loaded: list[list[str]] = []
    one.session.load(lambda found: loaded.append(list(found.image.topics)))
    assert loaded == [["t"] if is_done else []]


def test_a_topic_that_another_removed_ends_the_term(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(topic("t", 1))
    cluster.write(Delete("/brokers/topics/t/partitions"), Delete("/brokers/topics/t"))
    refused = one.commit(partition(1, 0, [1]))
    assert isinstance(refused, CommitFailed)
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    assert isinstance(one.commit(topic("t", 3)), Committed)


def test_the_epoch_is_a_fence(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    cluster.hand.multi([SetData(znodes.CONTROLLER_EPOCH, b"9")], lambda done: None)
    refused = one.commit(topic("t", 1))
    assert isinstance(refused, CommitFailed)
    assert cluster.node("/brokers/topics/t") is None


def test_a_controller_that_was_removed_runs_again(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.news()
    cluster.write(Delete(znodes.CONTROLLER))
    deposed, elected = one.news()
    assert isinstance(deposed, Deposed)
    assert elected == Elected(ControllerEpoch(2))
    assert json.loads(cluster.data(znodes.CONTROLLER) or b"")["brokerid"] == 1
    assert cluster.data(znodes.CONTROLLER_EPOCH) == b"2"


def test_an_epoch_is_not_given_twice(cluster: Cluster) -> None:
    """Who runs has not yet heard that another was elected, and is no more."""
    cluster.write(Create(znodes.CONTROLLER_EPOCH, b"0"))
    one = Member(cluster, 1, candidate=False)
    cluster.hand.multi([SetData(znodes.CONTROLLER_EPOCH, b"1")], lambda done: None)
    one.session.run_for_controller()
    cluster.turns.drain()
    assert [event for event in one.heard if isinstance(event, Elected)] == [
        Elected(ControllerEpoch(2))
    ]
    assert cluster.data(znodes.CONTROLLER_EPOCH) == b"2"


def test_who_is_elected_and_reads_another_epoch_than_its_own_begins_no_term(
    cluster: Cluster,
) -> None:
    """Somebody has raised it again: its commits would be fenced by one that it does not have."""
    one = Member(cluster, 1, candidate=False)
    one.session.run_for_controller()
    while cluster.zookeeper.find(znodes.CONTROLLER) is None:
        cluster.turns.some(1)
    cluster.hand.multi([SetData(znodes.CONTROLLER_EPOCH, b"7")], lambda done: None)
    cluster.turns.drain()
    assert [event for event in one.heard if isinstance(event, Elected)] == [
        Elected(ControllerEpoch(8))
    ]


def test_who_resigns_while_it_reads_begins_no_term(cluster: Cluster) -> None:
    one = Member(cluster, 1, candidate=False)
    one.session.run_for_controller()
    while cluster.zookeeper.find(znodes.CONTROLLER) is None:
        cluster.turns.some(1)
    one.session.resign()
    cluster.turns.drain()
    assert one.heard == []
    assert cluster.node(znodes.CONTROLLER) is None


def test_what_is_read_in_part_is_not_acted_on(cluster: Cluster) -> None:
    """The connection goes amid the first look: of the rest nothing is known."""
    Member(cluster, 1).commit(topic("t", 1), partition(1, 0, [1]))
    whole = Member(cluster, 2, candidate=False)
    for turns in range(1, 40):
        session = ZooKeeperStore(
            cluster.zookeeper, "cluster", SteerableClock(), SeededEntropy(1)
        ).open_session(BrokerId(3), lambda event: None)
        images: list[MetadataImage] = []
        session.watch(partial(_keep, images))
        session.register(broker_registration(3))
        cluster.turns.some(turns)
        cluster.zookeeper.disconnect(session._zookeeper.id)
        cluster.turns.drain()
        assert [list(each.topics) for each in images] in ([], [["t"]], [["t"]] * 2)
        assert bool(images) or 3 not in whole.image.brokers
        session.close()
        cluster.turns.drain()


def test_who_registers_anew_is_gone_and_there(cluster: Cluster) -> None:
    """In one transaction: nobody sees the time between."""
    one, two = Member(cluster, 1), Member(cluster, 2)
    before = one.image.brokers[BrokerId(2)].epoch
    one.news()
    two.session.register(broker_registration(2))
    cluster.turns.drain()
    after = one.image.brokers[BrokerId(2)].epoch
    left, joined = one.news()
    assert left == BrokerLeft(BrokerId(2), before)
    assert isinstance(joined, BrokerJoined)
    assert joined.broker.epoch == after > before


def test_who_died_while_nobody_was_there_is_told_to_the_next_controller(cluster: Cluster) -> None:
    """By what names it: who leads, and who is in sync."""
    one, two, three = (Member(cluster, id) for id in (1, 2, 3))
    one.commit(topic("t", 1), partition(1, 0, [2, 1], isr=[2]), partition(1, 1, [1, 3], isr=[1, 3]))
    for each in (three, two, one):
        each.session.close()
    cluster.turns.drain()
    again = Member(cluster, 1)
    gone = [event for event in again.heard if isinstance(event, BrokerLeft)]
    assert gone == [BrokerLeft(BrokerId(id), NO_BROKER_EPOCH) for id in (2, 3)]


def test_a_connection_that_comes_back_finds_what_it_missed(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    cluster.zookeeper.disconnect(two.session._zookeeper.id)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    assert two.image.topics == {}
    cluster.zookeeper.reconnect(two.session._zookeeper.id)
    cluster.turns.drain()
    assert list(two.image.topics) == ["t"]
    assert two.news() == []


def test_a_broker_waits_for_the_end_of_its_earlier_life(cluster: Cluster) -> None:
    one, first = Member(cluster, 1), Member(cluster, 2)
    epoch = one.image.brokers[BrokerId(2)].epoch
    second = Member(cluster, 2)
    assert not second.store.is_registered(BrokerId(2))
    cluster.zookeeper.expire(first.session._zookeeper.id)
    cluster.turns.drain()
    assert isinstance(first.heard[-1], SessionLost)
    assert second.session.is_registered
    assert one.image.brokers[BrokerId(2)].epoch > epoch
    assert BrokerLeft(BrokerId(2), epoch) in one.heard


def test_states_that_a_broker_has_made_itself_are_watched_by_it_too(cluster: Cluster) -> None:
    """Another one may be the controller next, and this one goes on."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1, 2]))
    one.commit(partition(1, 1, [1, 2]))
    for index in range(2):
        data = znodes.write_state(
            znodes.StateNode(BrokerId(2), LeaderEpoch(7), (BrokerId(2),), ControllerEpoch(9))
        )
        cluster.write(SetData(znodes.state_path("t", index), data))
        assert one.image.topics["t"].partitions[index].leader_epoch == 7


def _keep(images: list[MetadataImage], image: MetadataImage, delta: object) -> None:
    images.append(image)

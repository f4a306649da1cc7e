"""Over ZooKeeper: brokers that came back while there was no controller, and what leads then."""

from __future__ import annotations

import json
from typing import Any

from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.store import CommitResult, Committed, Elected
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Create, SetData
from kafkalite.protocol.messages.metadata_records import RegisterBrokerRecord
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.testing.simulation import Simulation
from kafkalite.types import NO_LEADER, BrokerId, ControllerEpoch, LeaderEpoch
from tests.controller.sample_cluster import broker_registration
from tests.metadata.sample_changes import changed, partition, topic, uuid
from tests.server.running import simulated
from tests.stores.zookeeper_cluster import Cluster, Member

TWO = BrokerId(2)
KAFKA = b"""{"version":5,"host":"k","port":9092,"endpoints":["PLAINTEXT://k:9092"],"jmx_port":-1,
"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"timestamp":"0","features":{}}"""


def leads(member: Member) -> tuple[int, int]:
    """Of the partition: leader and leader epoch."""
    found = member.image.topics["t"].partitions[0]
    return found.leader, found.leader_epoch


def stands(cluster: Cluster) -> tuple[int, int, list[int]]:
    state = json.loads(cluster.data(znodes.state_path("t", 0)) or b"")
    return state["leader"], state["leader_epoch"], state["isr"]


def end(member: Member) -> None:
    """Its process is killed, and its session is over."""
    member.cluster.zookeeper.expire(member.session._zookeeper.id)
    member.cluster.turns.drain()


def begin_term(cluster: Cluster, simulation: Simulation, id: int = 9) -> None:
    """Another broker joins, and is the controller, which decides."""
    driver = ControllerDriver(simulation.clock, ControllerSettings())
    store = ZooKeeperStore(cluster.zookeeper, "cluster", simulation.clock, SeededEntropy(id))
    session = store.open_session(BrokerId(id), driver.on_store_event)
    session.register(broker_registration(id))
    driver.start(session)
    cluster.turns.drain()
    assert driver.active


def unnoticed(cluster: Cluster, *isr: int) -> tuple[Member, Member]:
    """Broker 2 leads, and comes back while there is no controller; as broker 1 and it see it."""
    other, first = Member(cluster, 1, candidate=False), Member(cluster, 2, candidate=False)
    controller = Member(cluster, 3)
    controller.commit(topic("t", 1), partition(1, 0, [2, 1], isr=list(isr)))
    controller.session.resign()
    end(controller)
    end(first)
    assert leads(other) == (2, 0), "until it is back nobody need care"
    return other, Member(cluster, 2, candidate=False)


@simulated
async def test_who_comes_back_leads_nothing_until_a_controller_has_decided(
    simulation: Simulation,
) -> None:
    cluster = Cluster()
    other, second = unnoticed(cluster, 2, 1)
    assert leads(other) == leads(second) == (NO_LEADER, 0)
    assert stands(cluster) == (2, 0, [2, 1]), "what is written is as it was"
    begin_term(cluster, simulation)
    assert leads(other) == leads(second) == (1, 1)
    assert stands(cluster) == (1, 1, [1])


@simulated
async def test_who_is_in_sync_alone_leads_again_in_a_new_epoch(simulation: Simulation) -> None:
    cluster = Cluster()
    other, second = unnoticed(cluster, 2)
    assert leads(second) == (NO_LEADER, 0)
    begin_term(cluster, simulation)
    assert leads(other) == leads(second) == (2, 1)
    assert stands(cluster) == (2, 1, [2])


@simulated
async def test_of_several_that_came_back_those_that_stayed_lead(simulation: Simulation) -> None:
    cluster = Cluster()
    one, two = Member(cluster, 1, candidate=False), Member(cluster, 2, candidate=False)
    four, controller = Member(cluster, 4, candidate=False), Member(cluster, 3)
    controller.commit(topic("t", 1), partition(1, 0, [1, 2, 4]))
    for each in (controller, one, two):
        end(each)
    Member(cluster, 1, candidate=False)
    Member(cluster, 2, candidate=False)
    begin_term(cluster, simulation)
    assert leads(four)[0] == 4
    assert stands(cluster)[2] == [4]


@simulated
async def test_who_stayed_leads_on_in_its_epoch(simulation: Simulation) -> None:
    cluster = Cluster()
    two, controller = Member(cluster, 2, candidate=False), Member(cluster, 3)
    controller.commit(topic("t", 1), partition(1, 0, [2]))
    end(controller)
    begin_term(cluster, simulation)
    assert leads(two) == (2, 0)
    assert two.session.is_open


def elect_kafka(cluster: Cluster) -> None:
    """A broker of Kafka joins, and is the controller."""
    cluster.write(
        Create(znodes.broker_path(BrokerId(7)), KAFKA, ephemeral=True),
        Create(znodes.CONTROLLER, znodes.write_controller(BrokerId(7), 0), ephemeral=True),
    )


@simulated
async def test_one_that_was_elected_before_it_came_back_does_not(simulation: Simulation) -> None:
    """That one notices, and decides."""
    cluster = Cluster()
    other, first = Member(cluster, 1, candidate=False), Member(cluster, 2, candidate=False)
    controller = Member(cluster, 3)
    controller.commit(topic("t", 1), partition(1, 0, [2, 1]))
    controller.session.resign()
    end(controller)
    elect_kafka(cluster)
    assert leads(other) == (2, 0)
    end(first)
    second = Member(cluster, 2, candidate=False)
    assert leads(other) == leads(second) == (NO_LEADER, 0)


@simulated
async def test_a_kafka_that_is_elected_says_that_the_state_holds(simulation: Simulation) -> None:
    cluster = Cluster()
    other, second = unnoticed(cluster, 2, 1)
    elect_kafka(cluster)
    assert leads(other) == leads(second) == (2, 0)


@simulated
async def test_what_changes_with_that_election_holds_too(simulation: Simulation) -> None:
    """It is read at once with it, and names the leader in the epoch in which nobody led."""
    cluster = Cluster()
    other, second = unnoticed(cluster, 2, 1)
    state = znodes.StateNode(TWO, LeaderEpoch(0), (TWO,), ControllerEpoch(2))
    cluster.hand.multi(
        [
            Create(znodes.broker_path(BrokerId(7)), KAFKA, ephemeral=True),
            Create(znodes.CONTROLLER, znodes.write_controller(BrokerId(7), 0), ephemeral=True),
            SetData(znodes.state_path("t", 0), znodes.write_state(state)),
        ],
        lambda done: None,
    )
    life = second.image.brokers[TWO].epoch
    cluster.turns.drain()
    assert leads(other) == leads(second) == (2, 0)
    assert second.image.brokers[TWO].epoch == life


def led_by_two(cluster: Cluster) -> tuple[Member, Member, Member]:
    """Broker 2 leads, and broker 3 is the controller, which decides nothing by itself."""
    other, first = Member(cluster, 1, candidate=False), Member(cluster, 2, candidate=False)
    controller = Member(cluster, 3)
    controller.session.load(lambda loaded: None)
    controller.commit(topic("t", 1), partition(1, 0, [2, 1], isr=[2, 1]))
    assert leads(other) == leads(first) == leads(controller) == (2, 0)
    return other, first, controller


def test_who_waits_for_the_end_of_its_earlier_life_leads_nothing() -> None:
    """Its process was killed, and comes back while ZooKeeper has the session."""
    cluster = Cluster()
    other, first, _ = led_by_two(cluster)
    second = Member(cluster, 2, candidate=False)
    assert leads(other) == (2, 0), "nobody has heard of it"
    assert leads(second) == (NO_LEADER, 0)
    end(first)
    assert second.session.is_registered
    assert leads(other) == leads(second) == (NO_LEADER, 0)


def test_nor_does_it_if_a_kafka_is_elected_meanwhile() -> None:
    cluster = Cluster()
    _, first, controller = led_by_two(cluster)
    controller.session.resign()
    end(controller)
    second = Member(cluster, 2, candidate=False)
    elect_kafka(cluster)
    assert leads(first) == (2, 0)
    assert leads(second) == (NO_LEADER, 0)


def held_back(cluster: Cluster, *, by_kafka: bool = False) -> tuple[Member, Member, Member]:
    """A commit leaves when broker 2, which it names as the leader that it was, has died and come
    back, be it as one of Kafka. The controller acts on nothing of it. The second: its new life."""
    other, first, controller = led_by_two(cluster)
    session: Any = controller.session._zookeeper  # Any: its method is set.
    multi, held = session.multi, []
    session.multi = lambda *words: held.append(words)
    epoch = next(each.epoch for each in controller.heard if isinstance(each, Elected))
    results: list[CommitResult] = []
    controller.session.commit(epoch, (changed(uuid(1), 0, isr=[2]),), results.append)
    end(first)
    if by_kafka:
        cluster.write(Create(znodes.broker_path(TWO), KAFKA, ephemeral=True))
    second = first if by_kafka else Member(cluster, 2, candidate=False)
    session.multi = multi
    multi(*held[0])
    cluster.turns.drain()
    assert isinstance(results[0], Committed)
    assert stands(cluster) == (2, 0, [2]), "it was written"
    return other, second, controller


@simulated
async def test_a_commit_that_leaves_late_names_an_earlier_life(simulation: Simulation) -> None:
    cluster = Cluster()
    other, second, controller = held_back(cluster)
    for each in (other, second, controller):
        assert leads(each) == (NO_LEADER, 0)
    led = [each.topics["t"].partitions[0].leader for each in second.images if each.topics]
    assert set(led) == {NO_LEADER}, "not for a moment"
    assert second.session.is_registered
    end(controller)
    begin_term(cluster, simulation)
    assert leads(other) == leads(second) == (2, 1)
    assert stands(cluster) == (2, 1, [2])


def test_who_is_named_too_late_registers_again_once() -> None:
    cluster = Cluster()
    other, *_ = held_back(cluster)
    state = cluster.node(znodes.state_path("t", 0))
    registered = cluster.node(znodes.broker_path(TWO))
    assert state is not None
    assert registered is not None
    assert registered.stat.czxid == state.stat.mzxid + 1, "it is the next thing that happened"
    lives = {each.brokers[TWO].epoch for each in other.images if TWO in each.brokers}
    assert len(lives) == 3


def test_it_does_not_do_so_while_it_does() -> None:
    """It may be found out again before it has read that it has."""
    cluster = Cluster()
    one = Member(cluster, 1)
    registration = one.session._registration
    for _ in range(2):
        registration.again()
        registration.consider()
    cluster.turns.drain()
    lives = {each.brokers[BrokerId(1)].epoch for each in one.images if each.brokers}
    assert len(lives) == 2


def test_the_controller_tells_no_later_life_of_what_it_decided_before() -> None:
    """A broker of Kafka would lead by what it is told."""
    cluster = Cluster()
    other, _, controller = held_back(cluster, by_kafka=True)
    assert leads(other) == (2, 0), "to others it is what is written"
    assert leads(controller) == (NO_LEADER, 0)
    registered = RegisterBrokerRecord(broker_id=2, broker_epoch=controller.image.brokers[TWO].epoch)
    controller.commit(registered, changed(uuid(1), 0, leader=2))
    assert leads(controller) == leads(other) == (2, 1)


def test_who_is_not_the_controller_any_more_knows_as_much_as_others() -> None:
    cluster = Cluster()
    other, _, controller = held_back(cluster, by_kafka=True)
    controller.session.resign()
    cluster.turns.drain()
    assert leads(controller) == leads(other) == (2, 0)

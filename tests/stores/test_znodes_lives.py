"""Over ZooKeeper: brokers that came back while there was no controller, and what leads then."""

from __future__ import annotations

import json

from kafkalite.controller.settings import ControllerSettings
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Create
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.testing.simulation import Simulation
from kafkalite.types import NO_LEADER, BrokerId
from tests.controller.sample_cluster import broker_registration
from tests.metadata.sample_changes import partition, topic
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

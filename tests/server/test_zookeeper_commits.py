"""A controller over ZooKeeper whose commit comes to something else than an answer: at each of its
transactions, and at each turn between them, what was answered as done is there, and what is there
is known to whoever is the controller then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from kafkalite.controller.events import ConfigsAltered, ControllerRequest
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.zookeeper import (
    Create,
    Delete,
    Failure,
    Operation,
    Refused,
    SetData,
    ZooKeeperSession,
)
from kafkalite.stores import znodes, znodes_changes
from kafkalite.types import BrokerId
from tests.server.zookeeper_world import Multi, OnDone, World

STRIDE = 5
"""Of the turns between which something happens: all of them would take half a minute."""


def refused(world: World, failure: Failure, on_done: OnDone) -> None:
    world.cluster.turns.deliver(lambda: on_done(Refused(failure)))


def nothing(result: object) -> None:
    pass


def lost(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    is_done: bool,
    is_over: bool,
) -> None:
    """The connection goes before the answer comes: it was done or not, the session lasts or not."""
    if is_done:
        multi(operations, nothing)
    zookeeper = world.cluster.zookeeper
    zookeeper.disconnect(session.id)
    refused(world, Failure.CONNECTION_LOST, on_done)
    if is_over:
        zookeeper.expire(session.id)
    else:
        world.cluster.turns.deliver(lambda: zookeeper.reconnect(session.id))


def over(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    is_done: bool,
) -> None:
    """The end of the session is told before the answer."""
    if is_done:
        multi(operations, nothing)
    world.cluster.zookeeper.expire(session.id)
    refused(world, Failure.SESSION_OVER, on_done)


def overtaken(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    by: Callable[[], Sequence[Operation]],
) -> None:
    """Somebody else has written."""
    world.cluster.hand.multi(by(), nothing)
    multi(operations, on_done)


ANOTHER: Sequence[Operation] = [
    Delete(znodes.CONTROLLER),
    Create(znodes.CONTROLLER, znodes.write_controller(BrokerId(9), 0)),
    SetData(znodes.CONTROLLER_EPOCH, b"9"),
]
"""Broker 9, which is no more by then."""
FAULTS = {
    "lost before": partial(lost, is_done=False, is_over=False),
    "lost after": partial(lost, is_done=True, is_over=False),
    "lost before, and the session": partial(lost, is_done=False, is_over=True),
    "lost after, and the session": partial(lost, is_done=True, is_over=True),
    "over before": partial(over, is_done=False),
    "over after": partial(over, is_done=True),
    "another is elected": partial(overtaken, by=lambda: ANOTHER),
    "the controller is removed": partial(overtaken, by=lambda: [Delete(znodes.CONTROLLER)]),
    "another state": partial(overtaken, by=lambda: [SetData(znodes.state_path("going", 1), b"{}")]),
}


def run(world: World) -> list[ControllerRequest]:
    """Some requests, one behind the other."""
    requests: list[ControllerRequest] = [
        world.create("a"),
        world.alter(),
        world.delete(),
        world.block(),
        world.create("b"),
    ]
    world.submit(*requests)
    return requests


@pytest.fixture(autouse=True)
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a topic takes several."""
    monkeypatch.setattr(znodes_changes, "_MOST_OPERATIONS", 3)


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_becomes_of_a_transaction(fault: str) -> None:
    at = 0
    while True:
        world = World()
        at += 1
        world.at, world.fault = at, FAULTS[fault]
        requests = run(world)
        world.settle()
        world.is_counting = False
        world.judge(requests)
        if world.count < at:
            break
    assert at > 10, "each was met"


def cut(world: World) -> None:
    id = world.first.id
    world.cluster.zookeeper.disconnect(id)
    world.cluster.turns.deliver(lambda: world.cluster.zookeeper.reconnect(id))


def cut_for_long(world: World) -> None:
    """Others hear that it is gone, and it does not."""
    zookeeper, id = world.cluster.zookeeper, world.first.id
    zookeeper.disconnect(id)
    world.cluster.turns.drain()
    zookeeper.expire(id)


TURNS: dict[str, Callable[[World], None]] = {
    "cut": cut,
    "cut for long": cut_for_long,
    "expired": lambda world: world.cluster.zookeeper.expire(world.first.id),
    "removed": lambda world: world.cluster.hand.multi([Delete(znodes.CONTROLLER)], nothing),
    "replaced": lambda world: world.cluster.hand.multi(ANOTHER, nothing),
}


@pytest.mark.parametrize("fault", TURNS)
def test_whatever_happens_between_two_turns(fault: str) -> None:
    after = 0
    while True:
        world = World()
        requests = run(world)
        world.cluster.turns.some(after)
        is_over = len(world.replies) == len(requests)
        TURNS[fault](world)
        later = world.create("b2")
        world.submit(later)
        world.expected = ("a", "b", "b2", "old")
        world.settle()
        world.judge([*requests, later])
        if is_over:
            break
        after += STRIDE
    assert after > 100, "until all was done"


def test_who_is_the_controller_no_more_says_of_nothing_that_it_is_so() -> None:
    """Its process was stopped, say; to it the setting is what it is asked to be."""
    world = World()
    world.submit(world.alter())
    world.cluster.turns.drain()
    world.is_deaf = True
    world.cluster.zookeeper.expire(world.first.id)
    world.cluster.turns.drain()
    altered = world.drivers[2]
    assert altered.active
    assert world.drivers[1].active, "so it takes itself"
    answers: list[object] = []
    altered.submit(world.alter("8"), answers.append)
    world.cluster.turns.drain()
    assert isinstance(answers[0], ConfigsAltered)
    world.submit(world.alter())
    world.cluster.turns.drain()
    reply = world.replies[-1][1]
    assert isinstance(reply, KafkaError)
    assert reply.code is ErrorCode.NOT_CONTROLLER


def test_nor_refuses_it_what_only_it_has_not_heard_of() -> None:
    """A broker that came back since has another epoch, by which it asks."""
    world = World()
    world.is_deaf = True
    world.cluster.zookeeper.expire(world.first.id)
    world.cluster.turns.drain()
    before = world.block()
    registered = world.cluster.zookeeper.find("/brokers/ids/2")
    assert registered is not None
    world.cluster.zookeeper.expire(registered.stat.ephemeral_owner)
    world.settle()
    asked = world.block()
    assert asked.broker_epoch != before.broker_epoch
    assert world.drivers[1].active, "so it takes itself"
    world.submit(asked)
    world.cluster.turns.drain()
    reply = world.replies[-1][1]
    assert isinstance(reply, KafkaError)
    assert reply.code is ErrorCode.NOT_CONTROLLER

"""SCRAM credentials over ZooKeeper, where brokers of Kafka and its tools write them past the
controller."""

from __future__ import annotations

import pytest

from kafkalite.controller.events import (
    AlterScramCredentials,
    ScramCredentialsAltered,
    ScramDeletion,
    ScramUpsertion,
    UserAltered,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.zookeeper import Create, Delete, SetData
from kafkalite.stores import znodes, znodes_changes
from kafkalite.stores.znodes_users import read_credentials, user_path
from tests.server.zookeeper_world import World

ALICE = user_path("alice")
THEIRS = znodes.write_config(
    {"SCRAM-SHA-512": "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"}
)
NOTIFIED = Create(znodes.CONFIG_CHANGE, znodes.write_change_at(ALICE), sequential=True)
SET_256 = AlterScramCredentials(None, upsertions=(ScramUpsertion("alice", 1, 8192, b"s", b"p"),))
DELETE_512 = AlterScramCredentials(None, deletions=(ScramDeletion("alice", 2),))
DONE = ScramCredentialsAltered((UserAltered("alice"),))
MANY = 40
"""Turns, after which all is read."""


def test_what_others_set_a_client_can_take_away_and_add_to() -> None:
    world = World()
    world.cluster.write(Create(ALICE, THEIRS), NOTIFIED)
    assert world.asked(SET_256) == DONE
    assert world.asked(DELETE_512) == DONE
    left = world.cluster.zookeeper.find(ALICE)
    assert left is not None
    assert list(read_credentials(left.data)) == [1]
    world.cluster.write(Delete(ALICE), NOTIFIED)
    assert world.asked(DELETE_512) == ScramCredentialsAltered(
        (
            UserAltered(
                "alice",
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            ),
        )
    )
    world.expected = ("going", "old")
    world.judge([])


@pytest.mark.parametrize("is_later", [False, True])
def test_at_no_turn_undoes_one_what_the_other_has_set(
    monkeypatch: pytest.MonkeyPatch, *, is_later: bool
) -> None:
    """Others set one mechanism of a user, and a client another: behind something that takes its
    time, or while what they set is read. Both are there in the end, and the controller knows."""
    monkeypatch.setattr(znodes_changes, "_MOST_OPERATIONS", 2)
    for turns in range(MANY):
        world = World()
        world.cluster.write(Create(ALICE, znodes.write_config({"producer_byte_rate": "5"})))
        world.cluster.write(NOTIFIED)
        world.expected = ("going", "old")
        replies: list[object] = []
        if not is_later:
            world.expected = ("a", *world.expected)
            world.drivers[1].submit(world.create("a"), lambda reply: None)
            world.drivers[1].submit(SET_256, replies.append)
            world.cluster.turns.some(turns)
        found = world.cluster.zookeeper.find(ALICE)
        assert found is not None
        values = {**znodes.read_config(found.data), **znodes.read_config(THEIRS)}
        world.cluster.hand.multi(
            [SetData(ALICE, znodes.write_config(values), found.stat.version), NOTIFIED],
            lambda result: None,
        )
        if is_later:
            world.cluster.turns.some(turns)
            world.drivers[1].submit(SET_256, replies.append)
        world.settle()
        (reply,) = replies
        if isinstance(reply, KafkaError):
            assert reply.code is ErrorCode.NOT_CONTROLLER
            assert world.asked(SET_256) == DONE
        world.judge([])
        left = world.cluster.zookeeper.find(ALICE)
        assert left is not None
        assert list(read_credentials(left.data)) == [1, 2], turns
        assert znodes.read_config(left.data)["producer_byte_rate"] == "5"

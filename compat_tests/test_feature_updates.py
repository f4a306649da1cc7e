"""Levels of features, raised and lowered: what UpdateFeatures answers, and what clients meet then.
The same on kafkalite and on the real Kafka."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import pytest

from compat_tests.feature_levels import (
    GROUPS,
    NEWEST,
    SAFE_DOWNGRADE,
    TRANSACTIONS,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    at_level,
    finalized,
    set_level,
    update,
)
from compat_tests.golden import Golden, turns
from compat_tests.transaction_calls import TransactionCalls
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafkalite.protocol.schema import Request, Response

NONE, UNSUPPORTED, INVALID_STATE, INVALID_UPDATE, ABORTABLE = 0, 35, 48, 95, 120
R = TypeVar("R", bound=Response)


class Clients(NamedTuple):
    """Which versions they send."""

    produce: int
    end: int


OLD, NEW = Clients(produce=11, end=4), Clients(produce=12, end=5)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    golden = Golden(bootstrap)
    golden.fresh_topics({"features": {}})
    golden.await_coordinators()
    return golden


@pytest.fixture(autouse=True)
def newest_levels(golden: Golden) -> Iterator[None]:
    yield
    for name, level in NEWEST.items():
        if finalized(golden, name) != level:
            set_level(golden, name, level)


def calls(golden: Golden) -> TransactionCalls:
    """A producer of an id that nobody had before."""
    made = TransactionCalls(golden, f"features-{os.getpid()}-{next(_numbers)}", "features")
    made.begin()
    return made


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_update_is_answered(golden: Golden, version: int) -> None:
    answer = update(golden, (TRANSACTIONS, 2, UPGRADE), (GROUPS, 1, UPGRADE), version=version)
    good = {"error_code": 0, "error_message": "NONE"}
    if version < 2:
        assert answer.pop("results") == [
            {"feature": TRANSACTIONS, **good},
            {"feature": GROUPS, **good},
        ]
    assert answer == {"error_code": NONE, "error_message": None}


def why_not(golden: Golden, name: str, level: int, upgrade_type: int) -> str:
    """Without what every message begins with."""
    answer = update(golden, (TRANSACTIONS, 2, UPGRADE), (name, level, upgrade_type))
    assert answer["error_code"] == INVALID_UPDATE, answer
    message: str = answer["error_message"]
    return message.partition("error: ")[2].replace("Local controller 0", "Local controller 1")


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ((TRANSACTIONS, 2, 0), "The controller does not support the given upgrade type."),
        ((TRANSACTIONS, 5, 9), "The controller does not support the given upgrade type."),
        ((TRANSACTIONS, -1, 1), "A feature version cannot be less than 0."),
        ((TRANSACTIONS, 3, 1), "Local controller 1 only supports versions 0-2"),
        (
            (TRANSACTIONS, 1, 1),
            "Can't downgrade the version of this feature without setting the upgrade type to either"
            " safe or unsafe downgrade.",
        ),
        (("nonsense", 1, 2), "Local controller 1 does not support this feature."),
        (("nonsense", 0, 1), "Feature nonsense not found."),
        (("metadata.version", 0, 3), "Local controller 1 only supports versions 7-33"),
    ],
)
def test_a_wrong_update_is_refused(golden: Golden, update: tuple[str, int, int], why: str) -> None:
    name, level, _ = update
    said = why_not(golden, *update)
    assert said == f"Invalid update version {level} for feature {name}. {why}"


@pytest.mark.parametrize(
    ("upgrade_type", "why"),
    [
        (SAFE_DOWNGRADE, "Refusing to perform the requested downgrade because it might delete"),
        (UNSAFE_DOWNGRADE, "Unsafe metadata downgrade is not supported in this version."),
    ],
)
def test_the_level_of_the_metadata_stays(golden: Golden, upgrade_type: int, why: str) -> None:
    said = why_not(golden, "metadata.version", 32, upgrade_type)
    assert said.startswith(f"Unsupported metadata.version downgrade from 33 to 32. {why}")


def test_what_is_only_tried_changes_nothing(golden: Golden) -> None:
    tried = (TRANSACTIONS, 1, SAFE_DOWNGRADE)
    answer = update(golden, tried, validate_only=True)
    assert answer == {"error_code": NONE, "error_message": None}
    wrong = update(golden, tried, ("nonsense", 1, UPGRADE), validate_only=True)
    assert wrong["error_code"] == INVALID_UPDATE
    assert finalized(golden, TRANSACTIONS) == 2


def test_a_level_is_not_raised_by_a_downgrade(golden: Golden) -> None:
    with at_level(golden, TRANSACTIONS, 1):
        answer = update(golden, (TRANSACTIONS, 2, UNSAFE_DOWNGRADE))
        assert answer["error_message"].endswith("Can't downgrade to a newer version.")
        assert finalized(golden, TRANSACTIONS) == 1


@pytest.mark.parametrize("level", [0, 1])
def test_old_clients_write_transactions_at_every_level(golden: Golden, level: int) -> None:
    with at_level(golden, TRANSACTIONS, level):
        old = calls(golden)
        assert old.send(version=10) == INVALID_STATE
        assert old.send(version=11) == ABORTABLE
        for commits in (True, False):
            assert old.add() == NONE
            assert old.send(version=11) == NONE
            assert old.end(commits=commits, version=4) == NONE
            assert old.epoch == 0


def test_at_level_0_what_new_clients_ask_is_unsupported(golden: Golden) -> None:
    """Each by an id of its own: one that was refused, the real Kafka answers no more."""
    with at_level(golden, TRANSACTIONS, 0):
        assert calls(golden).send(version=12) == UNSUPPORTED
        assert calls(golden).commit_offset("features", 1, version=5) == UNSUPPORTED
        assert calls(golden).end(commits=False, version=5) == UNSUPPORTED
        assert calls(golden).end(commits=True, version=5) == INVALID_STATE
        added = calls(golden)
        assert added.add() == NONE
        assert added.send(version=12) == NONE
        assert added.end(commits=True, version=5) == UNSUPPORTED


def test_at_level_1_new_clients_are_served(golden: Golden) -> None:
    with at_level(golden, TRANSACTIONS, 1):
        new = calls(golden)
        assert new.send(version=12) == NONE
        assert new.end(commits=True, version=5) == NONE
        assert new.epoch == 1


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(range(3), 2)))
@pytest.mark.parametrize("clients", [OLD, NEW], ids=["old", "new"])
def test_an_open_transaction_goes_on_at_another_level(
    golden: Golden, clients: Clients, before: int, after: int, commits: bool
) -> None:
    with at_level(golden, TRANSACTIONS, before):
        producer = calls(golden)
        if clients is OLD or before == 0:
            assert producer.add() == NONE
        assert producer.send(version=clients.produce) == NONE
        set_level(golden, TRANSACTIONS, after)
        assert producer.send(version=clients.produce) == NONE
        ended = producer.end(commits=commits, version=clients.end)
        if clients is NEW and after == 0:
            # Nobody ends it but its timeout.
            assert ended == UNSUPPORTED
            assert producer.described()["transaction_state"] == "Ongoing"
            return
        assert (ended, producer.epoch) == (NONE, int(clients is NEW))
        for _ in turns("the markers are written"):
            if producer.in_partition()["current_txn_start_offset"] == -1:
                break
        if clients is OLD:
            assert producer.add() == NONE
        assert producer.send(version=clients.produce) == NONE
        assert producer.end(commits=commits, version=clients.end) == NONE


def test_an_id_of_a_new_client_gets_no_producer_at_level_0(golden: Golden) -> None:
    new = calls(golden)
    assert new.send(version=12) == NONE
    assert new.end(commits=True, version=5) == NONE
    new.begin()
    with at_level(golden, TRANSACTIONS, 0):
        assert new.init()["error_code"] == UNSUPPORTED


def test_without_the_feature_there_are_no_consumer_groups(golden: Golden) -> None:
    beat = ConsumerGroupHeartbeatRequest(
        group_id="features",
        member_id="AAAAAAAAAAAAAAAAAAAAAA",
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["features"],
        topic_partitions=[],
    )
    with at_level(golden, GROUPS, 0):
        assert ask(golden, beat, ConsumerGroupHeartbeatResponse).error_code == UNSUPPORTED
        asked = ConsumerGroupDescribeRequest(group_ids=["features", "others"])
        described = ask(golden, asked, ConsumerGroupDescribeResponse).groups
        assert [each.error_code for each in described] == [UNSUPPORTED] * 2


def ask(golden: Golden, request: Request, response: type[R]) -> R:
    """In version 1, of which kafka-python has no schemas."""
    frame = bytearray()
    for part in request_frame(request, 1, correlation_id=1, client_id="test"):
        assert isinstance(part, bytes | bytearray | memoryview)
        frame += part
    outcome, answer = golden.ask(bytes(frame))
    assert answer is not None, outcome
    # The frame's length, the correlation id, and no tagged fields.
    return decode(response, 1, memoryview(answer)[9:])

"""A commit on its way to ZooKeeper, where something goes wrong between two of its steps."""

from __future__ import annotations

import pytest

from kafkalite.metadata.changes import Change
from kafkalite.metadata.store import CommitFailed, CommitFailure, Committed
from kafkalite.ports.zookeeper import Check, Delete, Failure, SetData
from kafkalite.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    FeatureLevelRecord,
    UnregisterBrokerRecord,
)
from kafkalite.stores import znodes
from kafkalite.stores.znodes_changes import chunks
from tests.metadata.sample_changes import registration_change, topic
from tests.stores.zookeeper_cluster import Cluster, Member

FENCE = Check(znodes.CONTROLLER_EPOCH, 7)


def test_what_zookeeper_would_not_take_at_once_is_several_transactions() -> None:
    """It takes requests of 1 MiB, and is busy with one of many operations for long."""
    few = [SetData(f"/{number}", b"x" * 150_000, 1) for number in range(5)]
    assert list(chunks(few, FENCE)) == [(FENCE, *few[:2]), (FENCE, *few[2:4]), (FENCE, few[4])]
    many = [Delete(f"/{number}") for number in range(4_500)]
    assert [len(each) for each in chunks(many, FENCE)] == [2_001, 2_001, 501]
    assert [each for chunk in chunks(many, FENCE) for each in chunk[1:]] == many
    assert {chunk[0] for chunk in chunks(many, FENCE)} == {FENCE}


def test_where_nothing_is_to_be_done_the_fence_is_checked() -> None:
    assert list(chunks([], FENCE)) == [(FENCE,)]


def test_what_was_done_and_cannot_be_numbered_is_not_taken_for_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What ZooKeeper makes it numbers by a transaction, which a look tells; the connection is lost
    before that. The controller loads anew, and finds what it did."""
    cluster = Cluster()
    one = Member(cluster, 1)
    with monkeypatch.context() as patch:
        patch.setattr(
            one.session._zookeeper,
            "exists",
            lambda path, on_done, *, watch=False: on_done(Failure.CONNECTION_LOST),
        )
        result = one.commit(topic("t", 1))
    assert result == CommitFailed(CommitFailure.SESSION_LOST, Failure.CONNECTION_LOST.value)
    assert cluster.node("/brokers/topics/t") is not None


@pytest.mark.parametrize(
    "change",
    [
        FeatureLevelRecord(name="group.version", feature_level=0),
        UnregisterBrokerRecord(broker_id=1),
        AccessControlEntryRecord(),
    ],
    ids=lambda change: type(change).__name__,
)
def test_what_no_znode_keeps_is_not_answered_as_done(change: Change) -> None:
    cluster = Cluster()
    one = Member(cluster, 1)
    name = type(change).__name__
    refused = one.commit(topic("t", 1), change)
    assert refused == CommitFailed(CommitFailure.FENCED, f"no znode keeps a {name}")
    assert cluster.node("/brokers/topics/t") is None
    assert isinstance(one.commit(registration_change(1)), Committed), "the controller's alone"

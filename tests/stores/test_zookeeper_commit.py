"""A commit on its way to ZooKeeper, where something goes wrong between two of its steps."""

from __future__ import annotations

import pytest

from kafkalite.metadata.store import CommitFailed, CommitFailure
from kafkalite.ports.zookeeper import Failure
from tests.metadata.sample_changes import topic
from tests.stores.zookeeper_cluster import Cluster, Member


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

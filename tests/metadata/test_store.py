"""The contract of every metadata store. Its homes: `store_homes.py`.

A store may answer within the call or later. `Home.settled` stands where a test needs an answer.
"""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.store import (
    BrokerJoined,
    BrokerLeft,
    CommitFailed,
    CommitFailure,
    CommitResult,
    Committed,
    Deposed,
    Elected,
    Loaded,
    MetadataSession,
    SessionLost,
)
from kafkalite.types import BrokerId, ControllerEpoch
from tests.controller.sample_cluster import broker_registration
from tests.metadata.listener import Listener
from tests.metadata.sample_changes import partition, topic
from tests.metadata.store_homes import CLUSTER_ID, Home


class Member(Listener):
    """A broker's session, and all that it heard."""

    def __init__(self, home: Home, id: int, *, candidate: bool = True) -> None:
        super().__init__()
        self.home = home
        self.id = id
        self.session: MetadataSession = home.store.open_session(BrokerId(id), self.heard.append)
        self.session.watch(self.watch)
        if candidate:
            self.session.run_for_controller()

    @property
    def epoch(self) -> ControllerEpoch:
        """Of its last election, which is waited for."""
        self.home.settled(lambda: any(isinstance(event, Elected) for event in self.heard))
        elections = [event for event in self.heard if isinstance(event, Elected)]
        return elections[-1].epoch

    def is_elected(self) -> bool:
        return bool(self.heard) and isinstance(self.heard[-1], Elected)

    def commit(self, *changes: Change, epoch: ControllerEpoch | None = None) -> CommitResult:
        results: list[CommitResult] = []
        self.session.commit(self.epoch if epoch is None else epoch, changes, results.append)
        self.home.settled(lambda: len(results) == 1)
        return results[0]

    def load(self) -> Loaded:
        loaded: list[Loaded] = []
        self.session.load(loaded.append)
        self.home.settled(lambda: len(loaded) == 1)
        return loaded[0]


def test_the_cluster_has_its_name(home: Home) -> None:
    assert home.store.cluster_id == CLUSTER_ID


def test_the_first_candidate_is_elected(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    home.settled(one.is_elected)
    assert two.heard == []
    home.settled(lambda: bool(two.images) and two.images[-1].controller_id == 1)
    assert two.images[-1].epoch == one.epoch > 0


def test_running_twice_changes_nothing(home: Home) -> None:
    one = Member(home, 1)
    home.settled(one.is_elected)
    one.session.run_for_controller()
    one.commit(topic("t", 1))
    assert len(one.heard) == 1


def test_a_broker_has_one_session(home: Home) -> None:
    Member(home, 1)
    with pytest.raises(KafkaError) as refused:
        Member(home, 1)
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_commit_is_folded_everywhere_before_it_is_answered(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    home.settled(one.is_elected)
    seen: list[list[str]] = []

    def done(result: CommitResult) -> None:
        assert isinstance(result, Committed)
        assert result.end_offset == two.images[-1].end_offset
        seen.append(list(two.images[-1].topics))

    one.session.commit(one.epoch, (topic("t", 1), partition(1, 0, [3])), done)
    home.settled(lambda: seen == [["t"]])
    assert [t.name for t in two.deltas[-1].created] == ["t"]
    assert one.images[-1] == two.images[-1]


def test_offsets_go_on(home: Home) -> None:
    one = Member(home, 1)
    first = one.commit(topic("t", 1))
    second = one.commit(topic("u", 2), topic("v", 3))
    assert isinstance(first, Committed)
    assert isinstance(second, Committed)
    assert second.end_offset > first.end_offset


def test_a_commit_of_nothing_says_that_the_term_goes_on(home: Home) -> None:
    one = Member(home, 1)
    one.commit(topic("t", 1))
    told = len(one.images)
    end = one.images[-1].end_offset
    assert one.commit() == Committed(end)
    assert len(one.images) == told, "nothing has changed"


def test_a_new_watcher_hears_of_all_there_is(home: Home) -> None:
    one = Member(home, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    late = Member(home, 2)
    home.settled(lambda: len(late.images) >= 1)
    assert list(late.images[0].topics) == ["t"]
    assert [change.topic.name for change in late.deltas[0].partitions()] == ["t"]


def test_what_is_loaded_is_what_was_committed(home: Home) -> None:
    one = Member(home, 1)
    one.commit(topic("t", 1), partition(1, 0, [3]))
    loaded = one.load()
    assert loaded.image == one.images[-1]
    assert loaded.brokers == ()


def test_the_controller_hears_who_comes_and_goes(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    home.settled(one.is_elected)
    two.session.register(broker_registration(2))
    home.settled(lambda: isinstance(one.heard[-1], BrokerJoined))
    joined = one.heard[-1]
    assert isinstance(joined, BrokerJoined)
    assert joined.broker.registration == home.told(joined.broker, broker_registration(2))
    assert one.load().brokers == (joined.broker,)
    two.session.close()
    home.settled(lambda: one.heard[-1] == BrokerLeft(BrokerId(2), joined.broker.epoch))
    assert two.heard == []
    assert one.load().brokers == ()


def test_a_broker_that_comes_again_has_a_higher_epoch(home: Home) -> None:
    one = Member(home, 1)
    home.settled(one.is_elected)
    epochs = []
    for incarnation in range(3):
        two = Member(home, 2)
        two.session.register(broker_registration(2, incarnation=incarnation))
        home.settled(lambda: isinstance(one.heard[-1], BrokerJoined))
        joined = one.heard[-1]
        assert isinstance(joined, BrokerJoined)
        epochs.append(joined.broker.epoch)
        two.session.close()
        home.settled(lambda: isinstance(one.heard[-1], BrokerLeft))
    assert epochs == sorted(set(epochs))


def test_who_registered_before_the_election_is_loaded(home: Home) -> None:
    two = Member(home, 2, candidate=False)
    two.session.register(broker_registration(2))
    three = Member(home, 3, candidate=False)
    three.session.register(broker_registration(3))
    one = Member(home, 1)
    home.settled(one.is_elected)
    assert [live.registration.broker_id for live in one.load().brokers] == [2, 3]


def test_when_the_controller_goes_the_next_one_is_elected_and_told(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    old = one.epoch
    one.session.register(broker_registration(1))
    one.commit(topic("t", 1))
    one.session.close()
    home.settled(lambda: any(isinstance(event, Elected) for event in two.heard))
    assert two.epoch > old
    home.settled(lambda: isinstance(two.heard[-1], BrokerLeft))
    assert list(two.load().image.topics) == ["t"]
    assert isinstance(two.commit(topic("u", 2)), Committed)


def test_a_deposed_controller_changes_nothing(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    home.settled(one.is_elected)
    home.depose()
    home.settled(two.is_elected)
    assert isinstance(one.heard[-1], Deposed)
    for changes in ((topic("t", 1),), ()):
        assert one.commit(*changes) == CommitFailed(CommitFailure.FENCED)
    assert two.load().image.topics == {}
    old_epoch = ControllerEpoch(two.epoch - 1)
    assert two.commit(topic("t", 1), epoch=old_epoch) == CommitFailed(CommitFailure.FENCED)
    home.depose()
    home.settled(one.is_elected)
    assert one.epoch > two.epoch


def test_who_resigns_runs_no_more_until_it_says_so(home: Home) -> None:
    one = Member(home, 1)
    home.settled(one.is_elected)
    one.session.resign()
    one.session.resign()
    two = Member(home, 2)
    home.settled(two.is_elected)
    two.session.resign()
    assert isinstance(one.heard[-1], Elected)
    assert len(one.heard) == 1
    one.session.run_for_controller()
    home.settled(lambda: len(one.heard) == 2)


def test_a_lost_session_is_told_and_over(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    two.session.register(broker_registration(2))
    home.settled(lambda: isinstance(one.heard[-1], BrokerJoined))
    home.expire(2)
    home.settled(lambda: [*map(type, two.heard)] == [SessionLost])
    home.settled(lambda: isinstance(one.heard[-1], BrokerLeft))
    images = len(two.images)
    one.commit(topic("t", 1))
    assert len(two.images) == images
    assert two.commit(epoch=one.epoch) == CommitFailed(CommitFailure.SESSION_LOST)
    again = Member(home, 2)
    home.settled(lambda: len(again.images) >= 1)
    assert list(again.images[0].topics) == ["t"]


def test_a_closed_session_does_nothing_more(home: Home) -> None:
    one, two = Member(home, 1), Member(home, 2)
    two.session.close()
    two.session.close()
    heard = len(one.heard)
    two.session.register(broker_registration(2))
    two.session.run_for_controller()
    two.session.watch(lambda image, delta: pytest.fail("told of an image"))
    two.session.load(lambda loaded: pytest.fail("told what there is"))
    assert len(one.heard) == heard
    one.session.close()
    assert two.heard == []


def test_a_closed_store_ends_all_sessions(home: Home) -> None:
    one = Member(home, 1)
    home.settled(one.is_elected)
    home.store.close()
    assert one.commit(topic("t", 1)) == CommitFailed(CommitFailure.SESSION_LOST)

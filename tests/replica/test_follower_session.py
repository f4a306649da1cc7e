"""What the requests of a follower's fetch session name."""

from __future__ import annotations

from kafkalite.protocol.messages.fetch import FetchPartition, FetchRequest
from kafkalite.replica.follower_session import FollowerSession, PartitionKey
from kafkalite.types import Uuid

A = Uuid(bytes(15) + b"a")
B = Uuid(bytes(15) + b"b")
NAMES = {A: "a", B: "b"}


def key(topic_id: Uuid, index: int = 0) -> PartitionKey:
    return PartitionKey(topic_id, index)


def want(session: FollowerSession, *keys: PartitionKey, offset: int = 0) -> None:
    for each in keys:
        session.want(each, FetchPartition(partition=each.partition, fetch_offset=offset))


def request(session: FollowerSession) -> FetchRequest:
    made = FetchRequest()
    session.fill(made)
    return made


def named(made: FetchRequest) -> list[tuple[str, int, int]]:
    return [
        (NAMES[t.topic_id], p.partition, p.fetch_offset) for t in made.topics for p in t.partitions
    ]


def forgotten(made: FetchRequest) -> list[tuple[str, list[int]]]:
    return [(NAMES[topic.topic_id], topic.partitions) for topic in made.forgotten_topics_data]


def place(made: FetchRequest) -> tuple[int, int]:
    return (made.session_id, made.session_epoch)


def test_the_first_request_names_all_and_the_next_what_changed() -> None:
    session = FollowerSession()
    want(session, key(A), key(B), key(A, 1))
    first = request(session)
    assert place(first) == (0, 0)
    assert named(first) == [("a", 0, 0), ("a", 1, 0), ("b", 0, 0)]
    session.succeeded(77)
    want(session, key(B), offset=5)
    second = request(session)
    assert (place(second), named(second)) == ((77, 1), [("b", 0, 5)])
    session.succeeded(77)
    third = request(session)
    assert (place(third), named(third), forgotten(third)) == ((77, 2), [], [])


def test_what_is_left_out_is_told_once() -> None:
    session = FollowerSession()
    want(session, key(A), key(A, 1), key(B))
    request(session)
    session.succeeded(77)
    for each in (key(A), key(A, 1), key(B), key(B, 9)):
        session.leave_out(each)
    want(session, key(B))
    made = request(session)
    assert (named(made), forgotten(made)) == ([("b", 0, 0)], [("a", [0, 1])])
    assert len(session) == 1
    session.succeeded(77)
    assert forgotten(request(session)) == []


def test_what_was_asked_is_known_until_it_changes() -> None:
    session = FollowerSession()
    want(session, key(A), offset=3)
    assert session.asked(key(A)) is None
    request(session)
    told = session.asked(key(A))
    assert told is not None
    assert told.fetch_offset == 3
    want(session, key(A), offset=4)
    assert session.asked(key(A)) is None
    assert session.asked(key(B)) is None


def test_in_a_session_a_request_may_follow_another_that_waits() -> None:
    session = FollowerSession()
    want(session, key(A))
    open_after = [session.is_open]
    assert session.changed == {key(A)}
    request(session)
    open_after.append(session.is_open)
    assert not session.changed
    session.succeeded(77)
    open_after.append(session.is_open)
    assert open_after == [False, False, True]
    assert place(request(session)) == (77, 1)
    want(session, key(B))
    session.leave_out(key(A))
    assert session.changed == {key(A), key(B)}
    second = request(session)
    assert (place(second), named(second)) == ((77, 2), [("b", 0, 0)])
    session.succeeded(77)
    session.succeeded(77)
    assert place(request(session)) == (77, 3)


def test_without_a_session_every_request_names_all() -> None:
    session = FollowerSession()
    want(session, key(A))
    for _ in range(2):
        made = request(session)
        assert (place(made), named(made)) == ((0, 0), [("a", 0, 0)])
        session.succeeded(0)


def test_after_a_failure_another_session_begins_and_the_old_one_is_closed() -> None:
    session = FollowerSession()
    want(session, key(A), key(B))
    request(session)
    session.succeeded(77)
    session.leave_out(key(B))
    request(session)
    session.failed()
    made = request(session)
    assert (place(made), named(made), forgotten(made)) == ((77, 0), [("a", 0, 0)], [])
    session.succeeded(78)
    assert place(request(session)) == (78, 1)


def test_epochs_begin_again_after_the_last_one() -> None:
    session = FollowerSession()
    want(session, key(A))
    request(session)
    session.succeeded(77)
    session.succeeded(77)
    session._epoch = 2**31 - 1
    assert [place(request(session)) for _ in range(2)] == [(77, 2**31 - 1), (77, 1)]

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.server.producer_ids import MAX_WAITING, ProducerIds
from kafkalite.types import ProducerId

OnBlock = Callable[[range | KafkaError], None]
Given = list[ProducerId | KafkaError]


def test_ids_come_from_a_block_and_a_new_one_is_asked_for_when_it_is_used_up() -> None:
    blocks = iter([range(100, 102), range(500, 502)])
    ids = ProducerIds(lambda on_block: on_block(next(blocks)))
    given: Given = []
    for _ in range(4):
        ids.next(given.append)
    assert given == [100, 101, 500, 501]


def test_one_request_serves_all_who_ask_while_it_is_under_way() -> None:
    asked: list[OnBlock] = []
    ids = ProducerIds(asked.append)
    given: Given = []
    for _ in range(3):
        ids.next(given.append)
    assert (len(asked), given) == (1, [])
    asked[0](range(7, 9))
    assert given == [7, 8]
    assert len(asked) == 2, "the third is still waiting, for the next block"
    asked[1](range(20, 22))
    assert given == [7, 8, 20]


def test_a_refused_block_refuses_all_who_wait_and_the_next_one_asks_again() -> None:
    asked: list[OnBlock] = []
    ids = ProducerIds(asked.append)
    given: Given = []
    ids.next(given.append)
    ids.next(given.append)
    refusal = KafkaError(ErrorCode.NOT_CONTROLLER)
    asked[0](refusal)
    assert given == [refusal, refusal]
    ids.next(given.append)
    asked[1](range(1))
    assert given[2] == 0


def test_no_more_wait_than_a_block_serves() -> None:
    asked: list[OnBlock] = []
    ids = ProducerIds(asked.append)
    given: Given = []
    for _ in range(MAX_WAITING):
        ids.next(given.append)
    assert given == []
    ids.next(given.append)
    (refusal,) = given
    assert isinstance(refusal, KafkaError)
    assert refusal.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert refusal.code.retriable
    asked[0](range(5_000, 5_000 + MAX_WAITING))
    assert given[1:] == list(range(5_000, 5_000 + MAX_WAITING))
    assert len(asked) == 1

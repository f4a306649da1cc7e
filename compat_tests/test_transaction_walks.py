"""Walks through the states of transactional ids, and of producers in a partition: each step is
answered as it was on the real Kafka."""

from __future__ import annotations

from pathlib import Path

from compat_tests import producer_walk
from compat_tests.transaction_walk import walks

HERE = Path(__file__).parent


def recorded(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()


def test_every_step_is_answered_as_on_kafka(bootstrap: str) -> None:
    walked = [line for walk in walks(bootstrap) for line in walk]
    assert walked == recorded("transaction-walks.txt")


def test_every_batch_and_marker_is_answered_as_on_kafka(bootstrap: str) -> None:
    assert list(producer_walk.walks(bootstrap)) == recorded("producer-walks.txt")

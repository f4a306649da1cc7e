"""Walks through the states of transactional ids: each step is answered as it was on the real
Kafka."""

from __future__ import annotations

from pathlib import Path

from compat_tests.transaction_walk import walks

RECORDED = Path(__file__).parent / "transaction-walks.txt"


def test_every_step_is_answered_as_on_kafka(bootstrap: str) -> None:
    walked = [line for walk in walks(bootstrap) for line in walk]
    assert walked == RECORDED.read_text(encoding="utf-8").splitlines()

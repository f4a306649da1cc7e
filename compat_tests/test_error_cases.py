"""Bad and odd requests: whether the broker answers or closes, and with which codes and messages.

The requests are those of tests/data/make/errors.py, the expectation is what it recorded from the
real Kafka 4.4.0. Requests of groups, transactions and other APIs that kafkalite does not serve yet
are not selected.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from compat_tests.golden import Fields, Golden, rows

SERVED = {0, 1, 2, 3, 18, 19, 20, 21, 22, 32, 37, 44, None}
"""Keys of the APIs; None: frames that are no request of the schemas."""
LATER = (
    "init-",  # transactional ids.
    "txn-",
    "produce-internal-topic",  # there is no internal topic before there are groups.
    "fetch-bad-session-epoch",  # without fetch sessions each incremental fetch has an unknown one.
    "sasl-",
)
DIFFERS = {
    "produce-null-records": "refused as invalid; Kafka leaves the client without an answer",
    "produce-broken-gzip": "records are not decoded to be checked, only batch headers are",
}
"""Cases that kafkalite answers otherwise on purpose, and why; the real Kafka is asked them."""
RECORDED = [
    row
    for row in rows("errors.json")
    if row.get("key") in SERVED and not row["case"].startswith(LATER)
    if "BOOTSTRAP" in os.environ or row["case"] not in DIFFERS
]
HOUR_MS = "3600000"
TOPICS: dict[str, Fields] = {
    "good": {},
    "dot.ted": {},
    "tiny": {"configs": [{"name": "max.message.bytes", "value": "200"}]},
    "compact": {"configs": [{"name": "cleanup.policy", "value": "compact"}]},
    "fresh": {
        "configs": [
            {"name": "message.timestamp.before.max.ms", "value": HOUR_MS},
            {"name": "message.timestamp.after.max.ms", "value": HOUR_MS},
        ]
    },
}


@dataclass(frozen=True, slots=True)
class Answer:
    outcome: str
    frame: bytes | None


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    return Golden(bootstrap)


@pytest.fixture(scope="module")
def answers(golden: Golden) -> dict[str, Answer]:
    """All cases in the order of the recording, since some build on others; by name."""
    golden.fresh_topics(TOPICS)
    selected = {row["case"] for row in RECORDED}
    return {
        name: Answer(*golden.ask(frame))
        for name, frame in golden.cases(prepare(golden))
        if name in selected
    }


def prepare(golden: Golden) -> Fields:
    """Three records in `good`, two producer ids, a fetch session; stand-ins for groups and
    transactions."""
    api, version, fields = golden.script["produce"](golden.script["batch"](n=3))
    produced = golden.call(api.__name__.removesuffix("Request"), version, fields)
    assert not golden.errors(produced)
    init = {"transactional_id": None, "transaction_timeout_ms": 10_000}
    none = {"producer_id": -1, "producer_epoch": -1}
    first, second = (golden.call("InitProducerId", 4, init | none) for _ in range(2))
    _, version, fields = golden.script["fetch"](session_epoch=0)
    session = golden.call("Fetch", version, fields)
    return {
        "pid": first["producer_id"],
        "pid2": second["producer_id"],
        "session": session["session_id"],
        "txn": (0, 0),
        "txn2": (0, 0),
        "member": "",
        "other": "",
    }


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["case"])
def test_answers_are_kafkas(golden: Golden, answers: dict[str, Answer], row: Fields) -> None:
    answer = answers[row["case"]]
    assert answer.outcome == row["outcome"]
    if answer.frame is None:
        return
    if "error_code_guess" in row:  # a frame by hand, whose answer has no schema here.
        code = int.from_bytes(answer.frame[8:10], "big", signed=True)
        assert code == row["error_code_guess"]
    else:
        decoded = golden.decode(row["api"], row["version"], answer.frame)
        assert golden.errors(decoded) == row["errors"]

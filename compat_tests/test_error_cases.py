"""Bad and odd requests: whether the broker answers or closes, and with which codes and messages.

The requests are those of tests/data/make/errors.py, the expectation is what it recorded from the
real Kafka 4.4.0. What kafkalite does not have yet is not selected (`why_not_put`), and stands with
its reason in docs/compatibility.md. The broker validates records in full, as Kafka does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from compat_tests.conftest import BOOTSTRAP
from compat_tests.golden import Fields, Golden, rows, turns
from compat_tests.process import KafkaliteProcess
from compat_tests.transaction_calls import TransactionCalls
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header
from kafkalite.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kafkalite.server.apis.table import APIS

SERVED = {None, *(int(module.API.key) for module in APIS)}
"""Keys of the APIs; None: frames that are no request of the schemas."""
NOT_SERVED = "the API is not served yet"
LATER: dict[str, str] = {}
"""How names begin of cases that are not put to kafkalite yet, though the row names an API that is
served, or none; and why."""
DIFFERS = {
    "produce-null-records": "refused as invalid; Kafka leaves the client without an answer",
    "sync-wrong-protocol": "Kafka's own answer varies",
}
"""Cases that kafkalite answers otherwise on purpose, and why; the real Kafka is asked them."""


def why_not_put(row: Fields) -> str | None:
    """None: it is put to kafkalite."""
    for start, reason in LATER.items():
        if row["case"].startswith(start):
            return reason
    return None if row.get("key") in SERVED else NOT_SERVED


RECORDED = [
    row
    for row in rows("errors.json")
    if why_not_put(row) is None and (BOOTSTRAP or row["case"] not in DIFFERS)
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
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Golden]:
    if BOOTSTRAP:
        yield Golden(BOOTSTRAP)
        return
    broker = KafkaliteProcess.start(
        tmp_path_factory.mktemp("full") / "data", settings={"kafkalite.record.validation": "full"}
    )
    yield Golden(broker.address)
    assert broker.stop() == 0


@pytest.fixture(scope="module")
def answers(golden: Golden) -> dict[str, Answer]:
    """All cases in the order of the recording, since some build on others; by name."""
    golden.await_coordinators()
    golden.fresh_groups("busy", "fresh-group", "g")
    golden.fresh_topics(TOPICS)
    selected = {row["case"] for row in RECORDED}
    return {
        name: Answer(*golden.ask(frame))
        for name, frame in golden.cases(prepare(golden))
        if name in selected
    }


def prepare(golden: Golden) -> Fields:
    """Three records in `good`, two producer ids, a fetch session, a group, two producers of
    transactional ids."""
    api, version, fields = golden.script["produce"](golden.script["batch"](n=3))
    produced = golden.call(api.__name__.removesuffix("Request"), version, fields)
    assert not golden.errors(produced)
    init = {"transactional_id": None, "transaction_timeout_ms": 10_000}
    none = {"producer_id": -1, "producer_epoch": -1}
    first, second = (golden.init_producer_id(4, init | none) for _ in range(2))
    _, version, fields = golden.script["fetch"](session_epoch=0)
    session = golden.call("Fetch", version, fields)
    member, other = join_busy(golden)
    outcome, _ = golden.ask(golden.script["heartbeat848"]("g848b", "m-1", 0))
    assert outcome == "response"
    txn, txn2 = (TransactionCalls(golden, id, "good") for id in ("txn-a", "txn-b"))
    for producer in (txn, txn2):
        producer.begin()
    return {
        "pid": first["producer_id"],
        "pid2": second["producer_id"],
        "session": session["session_id"],
        "txn": (txn.producer_id, txn.epoch),
        "txn2": (txn2.producer_id, txn2.epoch),
        "member": member,
        "other": other,
    }


def join_busy(golden: Golden) -> tuple[str, str]:
    """The one member of the stable group `busy`, and a member id of it that has not joined."""
    version_and_topics = struct.pack(">hi", 1, 1) + struct.pack(">h", 4) + b"good"
    subscription = version_and_topics + struct.pack(">ii", -1, 0)

    def join(member: str) -> Fields:
        api, version, fields = golden.script["join"](
            "busy", member, timeout=300_000, protocols=[("range", subscription)]
        )
        return golden.call(api.__name__.removesuffix("Request"), version, fields)

    find = {"key_type": 0, "coordinator_keys": ["busy"]}
    for _ in turns("a coordinator of busy"):
        if not golden.errors(golden.call("FindCoordinator", 4, find)):
            break
    joined: Fields = {}
    for _ in turns("a member id of busy"):
        joined = join("")
        if joined["error_code"] in (0, 79):  # 79: the answer brings a member id.
            break
    joined = join(joined["member_id"])
    assert joined["error_code"] == 0
    sync = {
        "group_id": "busy",
        "generation_id": joined["generation_id"],
        "member_id": joined["member_id"],
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": joined["member_id"], "assignment": b"\0\1\0\0\0\0\0\0\0\0"}],
    }
    assert golden.call("SyncGroup", 5, sync)["error_code"] == 0
    return joined["member_id"], join("")["member_id"]


def assert_heartbeat_alike(row: Fields, frame: bytes) -> None:
    """kafka-python has no schema of this answer. In the recording a byte of the length stands
    before a long message, and its last one is missing."""
    _, begin = read_response_header(row["key"], row["version"], frame[4:])
    response = decode(ConsumerGroupHeartbeatResponse, row["version"], frame[4:], begin)
    if not row["errors"]:
        assert response.error_code == 0, response
        return
    (refused,) = row["errors"]
    assert response.error_code == refused["code"]
    assert refused["message"].removeprefix("\x01") in (response.error_message or "")


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["case"])
def test_answers_are_kafkas(golden: Golden, answers: dict[str, Answer], row: Fields) -> None:
    answer = answers[row["case"]]
    assert answer.outcome == row["outcome"]
    if answer.frame is None:
        return
    if "error_code_guess" in row:  # a frame by hand, whose answer has no schema here.
        code = int.from_bytes(answer.frame[8:10], "big", signed=True)
        assert code == row["error_code_guess"]
    elif row["api"] == "ConsumerGroupHeartbeat":
        assert_heartbeat_alike(row, answer.frame)
    else:
        decoded = golden.decode(row["api"], row["version"], answer.frame)
        assert golden.errors(decoded) == row["errors"]

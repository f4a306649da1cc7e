"""A data folder with transactions that are committed, aborted and open goes from kafkalite to the
real Kafka and back, and from the real Kafka to kafkalite. Who takes it over tells the same of them,
shows the same records as committed, and the same producers go on where they were."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from compat_tests.cluster_contents import End
from compat_tests.golden import Fields, Golden, turns
from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import RealKafka
from compat_tests.transaction_calls import TransactionCalls

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

TOPICS = ("ended", "open", "idempotent")
GROUP = "group"
TIMEOUT_MS = 900_000
"""Of transactions: no take-over lasts so long."""
OLD, NEW = "old", "new"


class Producers(NamedTuple):
    """Their ids, epochs and sequences, as they know them themselves."""

    ended: dict[str, TransactionCalls]
    open: dict[str, TransactionCalls]
    idempotent: tuple[int, int]
    """Producer id, and the next sequence."""

    def at(self, address: str) -> Producers:
        """The same producers, with another broker."""
        golden = Golden(address)
        for each in (*self.ended.values(), *self.open.values()):
            each.golden = golden
        return self


def end(calls: TransactionCalls, kind: str, *, commits: bool) -> None:
    assert calls.end(commits=commits, version=5 if kind == NEW else 4) == 0


def write(calls: TransactionCalls, kind: str) -> None:
    if kind == OLD:
        assert calls.add() == 0
    assert calls.send(version=12 if kind == NEW else 11) == 0


def commit_offset(calls: TransactionCalls, kind: str, group: str, offset: int) -> None:
    if kind == OLD:
        assert calls.add_offsets(group) == 0
    assert calls.commit_offset(group, offset, version=5 if kind == NEW else 3) == 0


def send_idempotent(golden: Golden, producer_id: int, sequence: int) -> int:
    """The offset of one more record, or of the same one again."""
    batch = golden.script["batch"](pid=producer_id, epoch=0, seq=sequence)
    _, version, fields = golden.script["produce"](batch, topic="idempotent", part=0, version=9)
    answer = golden.call("Produce", version, fields)
    partition = answer["responses"][0]["partition_responses"][0]
    assert partition["error_code"] == 0, partition
    offset: int = partition["base_offset"]
    return offset


def fill(address: str) -> Producers:
    golden = Golden(address)
    golden.fresh_topics({topic: {} for topic in TOPICS})
    golden.await_coordinators()
    ended, left_open = {}, {}
    for kind in (OLD, NEW):
        ended[kind] = TransactionCalls(golden, f"ended-{kind}", "ended")
        ended[kind].begin(timeout_ms=TIMEOUT_MS)
        for commits in (True, False, True):
            write(ended[kind], kind)
            commit_offset(ended[kind], kind, f"{GROUP}-ended-{kind}", 1 + commits)
            end(ended[kind], kind, commits=commits)
        left_open[kind] = TransactionCalls(golden, f"open-{kind}", "open")
        left_open[kind].begin(timeout_ms=TIMEOUT_MS)
        write(left_open[kind], kind)
        end(left_open[kind], kind, commits=False)
        write(left_open[kind], kind)
        commit_offset(left_open[kind], kind, f"{GROUP}-open-{kind}", 7)
    for each in ended.values():
        for _ in turns("the last transaction is over"):
            if each.described()["transaction_state"] == "CompleteCommit":
                break
    given = golden.call("InitProducerId", 4, {"transactional_id": None})
    sequences = range(3)
    for sequence in sequences:
        send_idempotent(golden, given["producer_id"], sequence)
    return Producers(ended, left_open, (given["producer_id"], len(sequences)))


def told(address: str) -> Fields:
    """All that clients can see of transactions."""
    golden = Golden(address)
    golden.await_coordinators()
    ids = [f"{state}-{kind}" for state in ("ended", "open") for kind in (OLD, NEW)]
    calls = [TransactionCalls(golden, id, id.split("-")[0]) for id in ids]
    for _ in turns("the coordinators have loaded"):
        described = [each.described() for each in calls]
        if not any(each["error_code"] for each in described):
            break
    for each in described:  # A set, in the real Kafka.
        each["topics"].sort(key=itemgetter("topic"))
    producers = golden.call(
        "DescribeProducers",
        0,
        {"topics": [{"name": topic, "partition_indexes": [0]} for topic in TOPICS]},
    )
    producers.pop("throttle_time_ms")
    for topic in producers["topics"]:
        for partition in topic["partitions"]:  # By the hashes of their ids, in the real Kafka.
            partition["active_producers"].sort(key=itemgetter("producer_id"))
    return {
        "transactions": described,
        "producers": producers,
        "offsets": {each.id: each.committed_offset(f"{GROUP}-{each.id}") for each in calls},
        **{
            f"{topic} {level}": read(address, topic, level)
            for topic in TOPICS
            for level in ("read_committed", "read_uncommitted")
        },
    }


def read(address: str, topic: str, level: str) -> list[int]:
    """The offsets of all records, as that isolation level sees them."""
    offsets = []
    settings = {"bootstrap.servers": address, "group.id": "nobody", "isolation.level": level}
    with closing(Consumer({**settings, "enable.partition.eof": True})) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        for _ in turns(f"the end of {topic}"):
            message = consumer.poll(1)
            if message is not None and message.error() is not None:
                break
            if message is not None:
                offsets.append(message.offset() or 0)
    return offsets


def go_on(producers: Producers, address: str) -> Producers:
    """Each producer with its next sequence; none asks for its id again. What was open is committed,
    and open again in the end."""
    producers = producers.at(address)
    for kind, calls in producers.ended.items():
        write(calls, kind)
        end(calls, kind, commits=True)
    for kind, calls in producers.open.items():
        write(calls, kind)
        end(calls, kind, commits=True)
        for _ in turns("its offset is committed"):
            if calls.committed_offset(f"{GROUP}-{calls.id}") == (7, 0):
                break
    for kind, calls in producers.open.items():
        write(calls, kind)
        commit_offset(calls, kind, f"{GROUP}-{calls.id}", 7)
    producer_id, sequence = producers.idempotent
    golden = Golden(address)
    last = send_idempotent(golden, producer_id, sequence - 1)
    assert send_idempotent(golden, producer_id, sequence) == last + 1, "the last was no duplicate"
    return producers._replace(idempotent=(producer_id, sequence + 1))


def as_text(facts: Fields) -> str:
    """Whose difference is easy to read."""
    return json.dumps(facts, indent=1, sort_keys=True)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafka_goes_on_with_the_transactions_of_kafkalite_and_the_reverse(
    tmp_path: Path,
    how: End,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[[Path], RealKafka],
) -> None:
    data = tmp_path / "logs"
    ours = start_kafkalite(data)
    producers = fill(ours.address)
    before = told(ours.address)
    assert before["open read_committed"] == []
    assert len(before["open read_uncommitted"]) == 4
    assert (ours.stop() if how == "stopped" else ours.kill()) in (0, -signal.SIGKILL)
    theirs = start_kafka(tmp_path)
    assert as_text(told(theirs.address)) == as_text(before)
    producers = go_on(producers, theirs.address)
    grown = told(theirs.address)
    assert len(grown["open read_committed"]) == 4
    theirs.end(how)
    again = start_kafkalite(data)
    assert as_text(told(again.address)) == as_text(grown)
    go_on(producers, again.address)
    assert len(told(again.address)["open read_committed"]) == 8


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafkalite_goes_on_with_the_transactions_of_kafka(
    tmp_path: Path,
    how: End,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[[Path], RealKafka],
) -> None:
    theirs = start_kafka(tmp_path)
    producers = fill(theirs.address)
    before = told(theirs.address)
    theirs.end(how)
    ours = start_kafkalite(tmp_path / "logs")
    assert as_text(told(ours.address)) == as_text(before)
    go_on(producers, ours.address)
    assert len(told(ours.address)["open read_committed"]) == 4

"""What transactions cost: kafkalite beside the real Kafka, or any brokers that run.

    .venv/bin/python -m benchmarks.transactions HOST:PORT [HOST:PORT] [--only NAME,...] [--rounds 3]
        [--page]

raw-R-P      transactions a second of R records in P partitions, at least one in each, one after the
             other: a Produce, an EndTxn, and the next at once (version 2 of the protocol); who is
             told CONCURRENT_TRANSACTIONS asks again after 1 ms
rdkafka-R-P  the same by librdkafka (version 1 of the protocol), with its own pauses
read         records a second that librdkafka reads of a topic of transactions of 100 records of
             1 KiB, every tenth of them aborted: `uncommitted` and `committed`, in turn, and the
             ratio of the two, which is to be 0.9 or more

Two brokers are measured in turn, round by round; a row has the median of each, their ratio, and all
runs. The raw client speaks through our own codecs. With --page, for which they are the real Kafka
and kafkalite in this order, TRANSACTIONS.md beside this file is written.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import statistics
import time
import uuid
from collections.abc import Callable
from contextlib import closing

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.groups import Link
from benchmarks.results import HERE, machine, number
from kafkalite.protocol.messages import (
    end_txn,
    find_coordinator,
    init_producer_id,
    produce,
)
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs

SIZES = ((1, 1), (1, 20), (100, 1), (100, 20))
"""Records of a transaction, and partitions that it writes to."""
FOR_S = 3.0
"""How long transactions are counted."""
WAIT_S = 30
AGAIN = {3, 6, 51}
"""The topic is new; CONCURRENT_TRANSACTIONS."""
VALUE = b"v" * 1024
READ_TRANSACTIONS, READ_RECORDS = 1_000, 100
PAGE = HERE / "TRANSACTIONS.md"
LEAST_RATIO = 0.9
"""Of reading what is committed to reading everything."""


def topic(address: str, partitions: int) -> str:
    """A new one, which clients see."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    while len(admin.list_topics(name, WAIT_S).topics[name].partitions) < partitions:
        time.sleep(0.01)
    return name


async def raw(address: str, records: int, partitions: int) -> float:
    name = topic(address, partitions)
    link = await Link.open(address)
    find = find_coordinator.FindCoordinatorRequest(key_type=1, key=name)
    init = init_producer_id.InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=60_000
    )
    while True:
        await link.ask(find, 3, find_coordinator.FindCoordinatorResponse)
        given = await link.ask(init, 4, init_producer_id.InitProducerIdResponse)
        if not given.error_code:
            break
        await asyncio.sleep(0.05)
    producer, epoch, done = given.producer_id, given.producer_epoch, 0
    begin = time.perf_counter()
    while (took := time.perf_counter() - begin) < FOR_S:
        request = written(name, producer, epoch, records, partitions)
        while True:
            if is_kept(await link.ask(request, 12, produce.ProduceResponse)):
                break
            await asyncio.sleep(0.001)
        end = end_txn.EndTxnRequest(
            transactional_id=name, producer_id=producer, producer_epoch=epoch, committed=True
        )
        ended = await link.ask(end, 5, end_txn.EndTxnResponse)
        assert not ended.error_code, ended
        producer, epoch, done = ended.producer_id, ended.producer_epoch, done + 1
    link.close()
    return done / took


def is_kept(answer: produce.ProduceResponse) -> bool:
    """In all partitions; else it is sent again, which is no harm to those that have it."""
    found = {each.error_code for topic in answer.responses for each in topic.partition_responses}
    assert found <= {0, *AGAIN}, found
    return found == {0}


def written(
    name: str, producer: int, epoch: int, records: int, partitions: int
) -> produce.ProduceRequest:
    """The only Produce of a transaction: its records, spread over as many partitions as they can
    fill."""
    now = TimestampMs(int(time.time() * 1_000))
    share = max(1, records // partitions)
    batch = bytes(
        build_batch(
            [Record(None, VALUE, timestamp=now)] * share,
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(epoch),
            base_sequence=0,
            is_transactional=True,
        )
    )
    data = [
        produce.PartitionProduceData(index=index, records=memoryview(batch))
        for index in range(partitions)
    ]
    return produce.ProduceRequest(
        transactional_id=name,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[produce.TopicProduceData(name=name, partition_data=data)],
    )


def rdkafka(address: str, records: int, partitions: int) -> float:
    name = topic(address, partitions)
    producer = begun(address, name)
    done, begin = 0, time.perf_counter()
    while (took := time.perf_counter() - begin) < FOR_S:
        producer.begin_transaction()
        for index in range(max(records, partitions)):
            producer.produce(name, VALUE, partition=index % partitions)
        producer.commit_transaction(WAIT_S)
        done += 1
    return done / took


def begun(address: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": address, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(WAIT_S)
    return producer


def read(address: str) -> dict[str, float]:
    """Records a second at both levels of isolation; each reads all, and warms the other's pages."""
    name = topic(address, 1)
    producer = begun(address, name)
    for at in range(READ_TRANSACTIONS):
        producer.begin_transaction()
        for _ in range(READ_RECORDS):
            producer.produce(name, VALUE, partition=0)
        if at % 10 == 9:
            producer.flush(WAIT_S)
            producer.abort_transaction(WAIT_S)
        else:
            producer.commit_transaction(WAIT_S)
    count(address, name, "read_uncommitted")
    return {
        level.removeprefix("read_"): count(address, name, level)
        for level in ("read_uncommitted", "read_committed")
    }


def count(address: str, name: str, level: str) -> float:
    """Of the records that there are, whether they are shown or not."""
    settings = {
        "bootstrap.servers": address,
        "group.id": name,
        "isolation.level": level,
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        consumer.consume(1, WAIT_S)
        begin, at_end = time.perf_counter(), False
        while not at_end:
            messages = consumer.consume(1_000, WAIT_S)
            at_end = any(message.error() is not None for message in messages)
    return READ_TRANSACTIONS * READ_RECORDS / (time.perf_counter() - begin)


def measures() -> dict[str, Callable[[str], dict[str, float]]]:
    """By name: what it gives, by the names of its rows."""
    found: dict[str, Callable[[str], dict[str, float]]] = {}
    for records, partitions in SIZES:
        size = f"{records}-{partitions}"

        def by_hand(address: str, r: int = records, p: int = partitions) -> dict[str, float]:
            return {f"raw-{r}-{p}": asyncio.run(raw(address, r, p))}

        def by_library(address: str, r: int = records, p: int = partitions) -> dict[str, float]:
            return {f"rdkafka-{r}-{p}": rdkafka(address, r, p)}

        found |= {f"raw-{size}": by_hand, f"rdkafka-{size}": by_library}

    def reading(address: str) -> dict[str, float]:
        rates = read(address)
        ratio = rates["committed"] / rates["uncommitted"]
        return {**{f"read-{level}": rate for level, rate in rates.items()}, "read-ratio": ratio}

    return {**found, "read": reading}


def page(rows: dict[str, list[list[float]]], load: float) -> str:
    """TRANSACTIONS.md. `load`: how many others wanted to run when it began."""
    today = datetime.datetime.now(datetime.UTC).date()
    reads = statistics.median(rows["read-ratio"][-1])
    verdict = "holds" if reads >= LEAST_RATIO else "**is missed**"
    return "\n".join(
        [
            "# Transactions: kafkalite and the real Kafka, side by side",
            "",
            f"Written by `python -m benchmarks.transactions KAFKA KAFKALITE --page` on {today}; "
            "not edited by hand. Apache Kafka 4.4.0 and `kafkalite serve`, with their defaults, "
            "both running, one of them idle. Medians; ratio: of kafkalite / Kafka; runs: Kafka's; "
            "kafkalite's. `raw-R-P` and `rdkafka-R-P`: transactions a second of R records in P "
            "partitions; `read`: records a second. What each means: `transactions.py`.",
            "",
            "Machine: " + "; ".join(machine()) + ". The clients run on the same cores. Load "
            f"average when it began: {load:.1f}; above 1, it tells of the neighbours too.",
            "",
            f"Reading what is committed at {number(reads)} of the rate of reading everything: "
            f"the floor of {LEAST_RATIO} {verdict}.",
            "",
            "| measurement | Kafka | kafkalite | ratio | runs |",
            "| --- | ---: | ---: | ---: | --- |",
            *(_row(name, runs) for name, runs in rows.items()),
            "",
        ]
    )


def _row(name: str, runs: list[list[float]]) -> str:
    theirs, ours = map(statistics.median, runs)
    every = "; ".join(" ".join(map(number, each)) for each in runs)
    return f"| `{name}` | {number(theirs)} | {number(ours)} | {number(ours / theirs)} | {every} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("brokers", nargs="+", metavar="HOST:PORT")
    parser.add_argument("--only", default="", help="names, or what they begin with; by comma")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", action="store_true", help="write TRANSACTIONS.md")
    options = parser.parse_args()
    wanted, (load, *_) = tuple(options.only.split(",")), os.getloadavg()
    rows: dict[str, list[list[float]]] = {}
    for name, measure in measures().items():
        if not name.startswith(wanted):
            continue
        for _ in range(options.rounds):
            for at, broker in enumerate(options.brokers):
                for row, value in measure(broker).items():
                    rows.setdefault(row, [[] for _ in options.brokers])[at].append(value)
    for name, runs in rows.items():
        medians = [statistics.median(each) for each in runs]
        ratio = round(medians[-1] / medians[0], 2)
        print(json.dumps({"name": name, "medians": medians, "ratio": ratio, "runs": runs}))
    if options.page:
        PAGE.write_text(page(rows, load), encoding="utf-8")


if __name__ == "__main__":
    main()

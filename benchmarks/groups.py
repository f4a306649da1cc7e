"""What groups cost: kafkalite beside the real Kafka, or any brokers that run.

    .venv/bin/python benchmarks/groups.py HOST:PORT [HOST:PORT] [--only NAME,...] [--rounds 3]
    .venv/bin/python benchmarks/groups.py --load 'kafkalite serve --port {port} --data {data}'

first-classic, first-consumer   ms from subscribe to the first record of a new group (librdkafka)
storm            s until 100 new groups of 10 members each (classic, range) have all synced
commits-1, -100  offset commits a second, of one partition each, from 1 and 100 groups, 5 in flight
heartbeats       us of the round trip of a heartbeat in a group of 5,000 members of the consumer
                 protocol, one at a time
load             s until a broker that was started again answers for a group that has committed
                 1,000,000 times (with --load alone; the start of the broker is in it)

Two brokers are measured in turn, round by round; a row has the median of each, their ratio, and all
runs. The members of `storm` assign without a thought, so that they cost little; they, and those of
the rows below it, speak through our own codecs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import socket
import statistics
import struct
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, TypeVar

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.messages import (
    consumer_group_heartbeat,
    find_coordinator,
    join_group,
    offset_commit,
    offset_fetch,
    sync_group,
)
from kafkalite.protocol.schema import Request, Response, schema_of

R = TypeVar("R", bound=Response)

GROUPS, MEMBERS = 100, 10
COMMITS = 20_000
LARGE = 5_000
BEATS = 5_000
LOGGED = 1_000_000
IN_FLIGHT = 5
PARTITIONS = 100
"""Of the topic that is committed for."""


class Row(TypedDict):
    """What one name gave, by broker and round."""

    name: str
    unit: str
    runs: list[list[float]]


class Link:
    """One connection; requests may overlap."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: str) -> Link:
        host, port = address.rsplit(":", 1)
        return cls(*await asyncio.open_connection(host, int(port)))

    def send(self, request: Request, version: int) -> None:
        parts = request_frame(request, version, correlation_id=1, client_id="bench")
        # Requests hold nothing but bytes.
        self._writer.write(b"".join(map(bytes, parts)))  # type: ignore[arg-type]

    async def hear(self, request: type[Request], version: int, response: type[R]) -> R:
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        answer = await self._reader.readexactly(size)
        _, begin = read_response_header(schema_of(request).api_key, version, answer)
        return decode(response, version, memoryview(answer), begin)

    async def ask(self, request: Request, version: int, response: type[R]) -> R:
        self.send(request, version)
        return await self.hear(type(request), version, response)

    def close(self) -> None:
        self._writer.close()


def new(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def topic(address: str, partitions: int = 1, records: int = 0) -> str:
    """A new one, which clients see."""
    name = new("bench")
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    while len(admin.list_topics(name, 10).topics[name].partitions) < partitions:
        time.sleep(0.01)
    if records:
        producer = Producer({"bootstrap.servers": address})
        for _ in range(records):
            producer.produce(name, b"v")
        producer.flush(30)
    return name


async def find(link: Link, *groups: str) -> None:
    """Until each has a coordinator."""
    request = find_coordinator.FindCoordinatorRequest(coordinator_keys=list(groups))
    while True:
        found = await link.ask(request, 4, find_coordinator.FindCoordinatorResponse)
        if not any(each.error_code for each in found.coordinators):
            return
        await asyncio.sleep(0.05)


def first_record(address: str, protocol: str) -> float:
    name = topic(address, records=1)
    settings: dict[str, str | bool] = {
        "bootstrap.servers": address,
        "group.id": new("g"),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "group.protocol": protocol,
    }
    consumer = Consumer(settings)
    begin = time.perf_counter()
    consumer.subscribe([name])
    message = None
    while message is None or message.error():
        message = consumer.poll(30)
    took = time.perf_counter() - begin
    consumer.close()
    return took * 1_000


async def member(address: str, group: str, size: int) -> None:
    """Until it has synced in a generation of all of them."""
    link = await Link.open(address)
    join = join_group.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    while True:
        joined = await link.ask(join, 9, join_group.JoinGroupResponse)
        join.member_id = joined.member_id or join.member_id
        if joined.error_code:
            continue
        given = [
            sync_group.SyncGroupRequestAssignment(
                member_id=each.member_id, assignment=bytes([len(joined.members)])
            )
            for each in joined.members
        ]
        sync = sync_group.SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=given,
        )
        synced = await link.ask(sync, 5, sync_group.SyncGroupResponse)
        if not synced.error_code and synced.assignment == bytes([size]):
            break
        await asyncio.sleep(0.02)  # As a member would with its next heartbeat.
    link.close()


async def storm(address: str, groups: int) -> float:
    names = [new("g") for _ in range(groups)]
    link = await Link.open(address)
    await find(link, *names)
    link.close()
    begin = time.perf_counter()
    await asyncio.gather(*(member(address, n, MEMBERS) for n in names for _ in range(MEMBERS)))
    return time.perf_counter() - begin


def commit(group: str, name: str, *offsets: int) -> offset_commit.OffsetCommitRequest:
    """Of the first partitions."""
    parts = [
        offset_commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in enumerate(offsets)
    ]
    asked = offset_commit.OffsetCommitRequestTopic(name=name, partitions=parts)
    return offset_commit.OffsetCommitRequest(group_id=group, topics=[asked])


async def commit_all(link: Link, requests: list[offset_commit.OffsetCommitRequest]) -> None:
    """With some in flight."""
    asked = offset_commit.OffsetCommitRequest
    for sent, request in enumerate(requests):
        link.send(request, 8)
        if sent >= IN_FLIGHT:
            await link.hear(asked, 8, offset_commit.OffsetCommitResponse)
    for _ in range(min(IN_FLIGHT, len(requests))):
        answer = await link.hear(asked, 8, offset_commit.OffsetCommitResponse)
    assert not answer.topics[0].partitions[0].error_code, answer


async def commits(address: str, groups: int, count: int) -> float:
    name = topic(address)
    names = [new("g") for _ in range(groups)]
    link = await Link.open(address)
    await find(link, *names)
    await settled(link, names, name)
    requests = [commit(names[number % groups], name, number) for number in range(count)]
    begin = time.perf_counter()
    await commit_all(link, requests)
    took = time.perf_counter() - begin
    link.close()
    return count / took


async def settled(link: Link, groups: list[str], name: str) -> None:
    """Until each coordinator has loaded."""
    for group in groups:
        while True:
            answer = await link.ask(commit(group, name, 0), 8, offset_commit.OffsetCommitResponse)
            if not answer.topics[0].partitions[0].error_code:
                break
            await asyncio.sleep(0.05)


async def heartbeats(address: str, members: int, count: int) -> float:
    name, group = topic(address, PARTITIONS), new("g")
    link = await Link.open(address)
    await find(link, group)
    answer_type = consumer_group_heartbeat.ConsumerGroupHeartbeatResponse
    epochs: dict[str, int] = {}
    for number in range(members):
        join = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=f"m{number}",
            rebalance_timeout_ms=600_000,
            subscribed_topic_names=[name],
            topic_partitions=[],
        )
        while True:
            joined = await link.ask(join, 1, answer_type)
            if not joined.error_code:
                break
            await asyncio.sleep(0.05)
        epochs[join.member_id] = joined.member_epoch
    took = []
    for number in range(count + members):
        member_id = f"m{number % members}"
        beat = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member_id, member_epoch=epochs[member_id]
        )
        begin = time.perf_counter()
        answer = await link.ask(beat, 1, answer_type)
        if number >= members:  # The first of each may find a new assignment.
            took.append(time.perf_counter() - begin)
        assert not answer.error_code, answer
        epochs[member_id] = answer.member_epoch
    link.close()
    return statistics.median(took) * 1e6


async def fill_log(address: str, group: str, count: int) -> None:
    name = topic(address, PARTITIONS)
    link = await Link.open(address)
    await find(link, group)
    await settled(link, [group], name)
    rounds = range(count // PARTITIONS)
    await commit_all(link, [commit(group, name, *[n] * PARTITIONS) for n in rounds])
    link.close()


async def answers_for(address: str, group: str) -> None:
    """Until the coordinator tells what the group has committed."""
    while True:
        try:
            link = await Link.open(address)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        asked = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None)
        request = offset_fetch.OffsetFetchRequest(groups=[asked])
        answer = await link.ask(request, 8, offset_fetch.OffsetFetchResponse)
        link.close()
        if not answer.groups[0].error_code and answer.groups[0].topics:
            return
        await asyncio.sleep(0.02)


def await_port(port: int) -> None:
    while True:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)


def load(command: str, count: int) -> float:
    """The broker is started, filled, stopped, and started again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, group = f"127.0.0.1:{port}", new("g")
    with tempfile.TemporaryDirectory() as data:
        words = shlex.split(command.format(port=port, data=data))
        broker = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            await_port(port)
            asyncio.run(fill_log(address, group, count))
            broker.terminate()
            broker.wait(60)
            begin = time.perf_counter()
            broker = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            asyncio.run(answers_for(address, group))
            return time.perf_counter() - begin
        finally:
            broker.terminate()
            broker.wait(60)


def measurements(scale: int) -> dict[str, tuple[str, Callable[[str], float]]]:
    """Name -> unit, and what measures it. `scale`: how often the load is divided."""
    beats, large = BEATS // scale, LARGE // scale
    return {
        "first-classic": ("ms", lambda address: first_record(address, "classic")),
        "first-consumer": ("ms", lambda address: first_record(address, "consumer")),
        "storm": ("s", lambda address: asyncio.run(storm(address, GROUPS // scale))),
        "commits-1": ("1/s", lambda a: asyncio.run(commits(a, 1, COMMITS // scale))),
        "commits-100": ("1/s", lambda a: asyncio.run(commits(a, 100, COMMITS // scale))),
        "heartbeats": ("us", lambda address: asyncio.run(heartbeats(address, large, beats))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("brokers", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--load", metavar="COMMAND")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scale = 10 if options.short else 1
    rows: list[Row] = []
    if options.load:
        took = [load(options.load, LOGGED // scale) for _ in range(options.rounds)]
        rows.append({"name": "load", "unit": "s", "runs": [took]})
    else:
        wanted = options.only.split(",") if options.only else list(measurements(scale))
        for name, (unit, measure) in measurements(scale).items():
            if name in wanted:
                runs: list[list[float]] = [[] for _ in options.brokers]
                for _ in range(options.rounds):
                    for each, address in zip(runs, options.brokers, strict=True):
                        each.append(measure(address))
                rows.append({"name": name, "unit": unit, "runs": runs})
                tell(rows[-1])
    if options.load:
        tell(rows[-1])
    if options.json:
        options.json.write_text(json.dumps(rows) + "\n")


def tell(row: Row) -> None:
    runs = row["runs"]
    medians = [statistics.median(each) for each in runs]
    shown = "  ".join(f"{median:10.1f}" for median in medians)
    ratio = f"  x{medians[0] / medians[1]:.2f}" if len(medians) == 2 else ""
    every = "; ".join(" ".join(f"{value:.1f}" for value in each) for each in runs)
    print(f"{row['name']:16}{row['unit']:>4} {shown}{ratio}   ({every})", flush=True)


if __name__ == "__main__":
    main()

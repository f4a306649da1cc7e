"""What groups cost, of any brokers that run. `groups_beside_kafka.py` starts two, and makes a page.

    .venv/bin/python -m benchmarks.groups HOST:PORT [HOST:PORT] [--only NAME,...] [--rounds 3]

first-classic, first-consumer   ms from subscribe to the first record of a new group (librdkafka)
storm            s until 100 new groups of 10 members each (classic, range) have all synced
commits-1, -100  offset commits a second, of one partition each, from 1 and 100 groups, 5 in flight,
                 once the broker has done as many for some time
large-join       s until 5,000 members of the consumer protocol have joined one group, 5 in flight
heartbeats       us of the round trip of a heartbeat in that group once it is stable, one at a time
stall            ms that another client waits at most for a small answer, while one more joins that
                 group and it is assigned anew
load             (of `groups_beside_kafka.py` alone) s until a broker that was started again answers
                 for a group that has committed 1,000,000 times, for 100 partitions; its start is in
                 it

Two brokers are measured in turn, round by round; a row has the median of each, their ratio, and all
runs. The members of `storm` assign without a thought, so that they cost little; they, and those of
the rows below it, speak through our own codecs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import struct
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.messages import (
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    find_coordinator,
    join_group,
    offset_commit,
    sync_group,
)
from kafkalite.protocol.schema import Request, Response, schema_of

R = TypeVar("R", bound=Response)

GROUPS, MEMBERS = 100, 10
COMMITS = 20_000
LARGE = 5_000
BEATS = 5_000
ASSIGNED_WITHIN_S = 8
"""A large group waits some seconds before it is assigned anew."""
IN_FLIGHT = 5
WARM_UPS = 2
"""Rounds of commits that are not counted. Kafka commits four times as fast when its code is
compiled, after some ten thousand; the row that comes first would compare with how it starts."""
PARTITIONS = 100
"""Of the topic that is committed for."""


Runs = list[list[float]]
"""What one row gave, by broker and round."""


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


class LargeGroup:
    """Of members that go on in their epochs, over one connection."""

    def __init__(self, link: Link, name: str) -> None:
        self._link, self._topic, self._group = link, name, new("g")
        self._epochs: dict[str, int] = {}

    async def join(self, members: int) -> float:
        """How long all of them take, in s, some in flight."""
        await find(self._link, self._group)
        while True:
            answer = await self._ask(self._first("m0"))
            if not answer.error_code:  # Else the coordinator is not loaded yet.
                break
            await asyncio.sleep(0.05)
        begin = time.perf_counter()
        await self._all([self._first(f"m{number}") for number in range(members)])
        return time.perf_counter() - begin

    def _first(self, member_id: str) -> consumer_group_heartbeat.ConsumerGroupHeartbeatRequest:
        return consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=member_id,
            rebalance_timeout_ms=600_000,
            subscribed_topic_names=[self._topic],
            topic_partitions=[],
        )

    def _next(self, member_id: str) -> consumer_group_heartbeat.ConsumerGroupHeartbeatRequest:
        """It owns nothing, so that it gives up at once what it is to."""
        return consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=member_id,
            member_epoch=self._epochs[member_id],
            topic_partitions=[],
        )

    async def _all(
        self, requests: list[consumer_group_heartbeat.ConsumerGroupHeartbeatRequest]
    ) -> None:
        for sent, request in enumerate(requests):
            self._link.send(request, 1)
            if sent >= IN_FLIGHT:
                await self._hear(requests[sent - IN_FLIGHT].member_id)
        for request in requests[-IN_FLIGHT:]:
            await self._hear(request.member_id)

    async def _hear(self, member_id: str) -> None:
        asked = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest
        answer = await self._link.hear(
            asked, 1, consumer_group_heartbeat.ConsumerGroupHeartbeatResponse
        )
        assert not answer.error_code, answer
        self._epochs[member_id] = answer.member_epoch

    async def beat(self, member_id: str) -> int:
        """Its epoch from then on."""
        answer = await self._ask(self._next(member_id))
        assert not answer.error_code, answer
        self._epochs[member_id] = answer.member_epoch
        return answer.member_epoch

    async def _ask(
        self, request: consumer_group_heartbeat.ConsumerGroupHeartbeatRequest
    ) -> consumer_group_heartbeat.ConsumerGroupHeartbeatResponse:
        response = consumer_group_heartbeat.ConsumerGroupHeartbeatResponse
        return await self._link.ask(request, 1, response)

    async def _settle(self) -> None:
        """Until all know their parts of the last assignment, which may be some seconds off: a
        heartbeat that gives a part costs more."""
        while await self._state() != "Stable":
            await self._all([self._next(member_id) for member_id in self._epochs])

    async def _state(self) -> str:
        request = consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=[self._group])
        response = consumer_group_describe.ConsumerGroupDescribeResponse
        answer = await self._link.ask(request, 1, response)
        assert not answer.groups[0].error_code, answer
        return answer.groups[0].group_state

    async def beats(self, count: int) -> float:
        """The median of that many, in us, of members whom they tell nothing new."""
        await self._settle()
        members = list(self._epochs)
        took = []
        for number in range(count):
            begin = time.perf_counter()
            await self.beat(members[number % len(members)])
            took.append(time.perf_counter() - begin)
        return statistics.median(took) * 1e6

    async def assigned_anew(self) -> None:
        """One more joins, and goes on until it has come to an epoch of its own."""
        await self._all([self._first("last")])
        before = self._epochs["last"]
        until = time.perf_counter() + ASSIGNED_WITHIN_S
        while time.perf_counter() < until:
            if await self.beat("last") != before:
                break
            await asyncio.sleep(0.05)


async def longest_wait(address: str, is_over: asyncio.Event) -> float:
    """Of a client that asks for little again and again, in ms."""
    link, longest = await Link.open(address), 0.0
    request = api_versions.ApiVersionsRequest()
    while not is_over.is_set():
        begin = time.perf_counter()
        await link.ask(request, 0, api_versions.ApiVersionsResponse)
        longest = max(longest, time.perf_counter() - begin)
        await asyncio.sleep(0)
    link.close()
    return longest * 1e3


async def large(address: str, members: int, count: int) -> dict[str, float]:
    """By row."""
    link = await Link.open(address)
    group = LargeGroup(link, topic(address, PARTITIONS))
    joined = await group.join(members)
    beats = await group.beats(count)
    is_over = asyncio.Event()
    waits = asyncio.ensure_future(longest_wait(address, is_over))
    await group.assigned_anew()
    is_over.set()
    link.close()
    return {"large-join": joined, "heartbeats": beats, "stall": await waits}


Measure = Callable[[str], dict[str, float]]
"""What an address gives, by row."""
UNITS = {
    "first-classic": "ms",
    "first-consumer": "ms",
    "storm": "s",
    "commits-1": "1/s",
    "commits-100": "1/s",
    "large-join": "s",
    "heartbeats": "us",
    "stall": "ms",
    "load": "s",
}
"""Of the rows."""


def measurements(scale: int) -> dict[str, Measure]:
    """By name. `scale`: how often the load is divided."""
    beats, members = BEATS // scale, LARGE // scale
    return {
        "first-classic": lambda a: {"first-classic": first_record(a, "classic")},
        "first-consumer": lambda a: {"first-consumer": first_record(a, "consumer")},
        "storm": lambda a: {"storm": asyncio.run(storm(a, GROUPS // scale))},
        "commits-1": lambda a: {"commits-1": asyncio.run(commits(a, 1, COMMITS // scale))},
        "commits-100": lambda a: {"commits-100": asyncio.run(commits(a, 100, COMMITS // scale))},
        "large": lambda a: asyncio.run(large(a, members, beats)),
    }


def measured(
    addresses: Sequence[str], *, rounds: int, scale: int, only: str = ""
) -> Iterator[tuple[str, Runs]]:
    """Row after row: what each of them gave, in turns."""
    wanted = tuple(only.split(","))
    for name, measure in measurements(scale).items():
        if not name.startswith(wanted):
            continue
        if name.startswith("commits"):
            for address in (*addresses,) * WARM_UPS:
                measure(address)
        rows: dict[str, Runs] = {}
        for _ in range(rounds):
            for at, address in enumerate(addresses):
                for row, value in measure(address).items():
                    rows.setdefault(row, [[] for _ in addresses])[at].append(value)
        yield from rows.items()


def tell(name: str, runs: Runs) -> None:
    medians = [statistics.median(each) for each in runs]
    shown = "  ".join(f"{median:10.1f}" for median in medians)
    ratio = f"  x{medians[1] / medians[0]:.2f}" if len(medians) == 2 else ""
    every = "; ".join(" ".join(f"{value:.1f}" for value in each) for each in runs)
    print(f"{name:16}{UNITS[name]:>4} {shown}{ratio}   ({every})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("brokers", nargs="+")
    parser.add_argument("--only", default="", help="names, or what they begin with; by comma")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", action="store_true", help="a tenth of the load")
    options = parser.parse_args()
    scale = 10 if options.short else 1
    for row in measured(options.brokers, rounds=options.rounds, scale=scale, only=options.only):
        tell(*row)


if __name__ == "__main__":
    main()

"""A broker on a damaged data folder: it says what is wrong, or serves what was there.

What clients see is held against what was there before: a record that passes its batch's CRC must be
one that was acknowledged, at its own offset unless the log itself was damaged, since no CRC covers
the offset. Nothing may hang, and nothing be told as a fault of ours.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from random import Random  # noqa: TID251  # seeded: the same damage in each run.
from typing import NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.cli.start_failures import explained
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError, ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.batch import crc_is_valid, iter_headers
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import read_records
from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import Simulation, run
from tests.log.damage import Damage, do_damage, restored
from tests.log.trees import Tree, tree
from tests.server.group_requests import commit, committed, find
from tests.server.requests import batch, fetch, fetched, list_offsets, produce, produced
from tests.server.running import FETCH, PRODUCE, Running, crashed, start

SMALL = {"internal.segment.bytes": "2000", "index.interval.bytes": "300"}
SETTINGS = {"offsets.topic.num.partitions": "2"}
TOPICS = {
    "plain": SMALL,
    "short": {},
    "compacted": {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"},
}
ASIDE = (
    *(".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", ".kafka_cleanshutdown"),
    *("recovery-point-offset-checkpoint", "replication-offset-checkpoint"),
)
"""Files that are made again, or only say what can be known without them."""
MOST_FETCHES = 500
COMMITTED = 7


class Seen(NamedTuple):
    """A record as a client sees it."""

    key: bytes | None
    value: bytes
    timestamp: int


@dataclass(frozen=True, slots=True)
class Before:
    """A data folder, and what was in it by topic and offset."""

    data: Tree
    records: dict[str, dict[int, Seen]]


class WrongError(AssertionError):
    """What must not be."""


def made(*, clean: bool) -> Before:
    """Of a broker that stopped, or whose process was killed."""
    found: list[Before] = []

    async def main(simulation: Simulation) -> None:
        files = MemoryFiles()
        async with (start if clean else crashed)(simulation, files, settings=SETTINGS) as running:
            for topic, configs in TOPICS.items():
                await running.create(topic, configs=configs)
            await find(running)
            await _fill(running)
            records = {topic: await _read(running, topic) for topic in TOPICS}
            if not clean:
                found.append(Before(tree(files), records))
        if clean:
            found.append(Before(tree(files), records))

    run(main, seed=1)
    return found[0]


async def _fill(running: Running) -> None:
    client = await running.client()
    sequence = 0
    for turn in range(30):
        for topic in TOPICS:
            if topic == "short" and turn > 3:
                continue
            values = [f"{topic} {turn} {n} ".encode() * 5 for n in range(3)]
            data = batch(
                *values,
                timestamp=START_MS + turn * 10,
                producer_id=4 if turn % 2 else -1,
                sequence=sequence if turn % 2 else -1,
                compression=Compression.GZIP if turn % 5 == 4 else Compression.NONE,
                key=b"key %d" % (turn % 4),
            )
            answer = produced(await client.ask(produce(topic, {0: data}), PRODUCE, ProduceResponse))
            assert answer[0].error_code == 0, answer
        sequence += 3 if turn % 2 else 0
    for offset in (3, COMMITTED):
        assert await commit(running, "plain", offset) == 0


async def _read(running: Running, topic: str, *, all_of_it: bool = True) -> dict[int, Seen]:
    """All that a consumer gets: up to the end, or an error that names itself. What is no batch, or
    does not pass its CRC, ends a consumer."""
    client = await running.client()
    asked = await client.ask(list_offsets(topic, (0, -2)), 7, ListOffsetsResponse)
    offset = asked.topics[0].partitions[0].offset
    found: dict[int, Seen] = {}
    for _ in range(MOST_FETCHES):
        if offset < 0:
            return found
        request = fetch(topic, {0: offset}, partition_max_bytes=400)
        (data,) = fetched(await client.ask(request, FETCH, FetchResponse))
        _check_code(data.error_code, f"fetch of {topic} at {offset}")
        if data.error_code or offset >= data.high_watermark:
            assert not (data.error_code and all_of_it), data
            return found
        assert isinstance(data.records, memoryview | bytes)
        records = bytes(data.records)
        before = offset
        try:
            for position, header in iter_headers(records):
                if not crc_is_valid(records, position, header):
                    return found
                for record in read_records(records, position, header):
                    key = None if record.key is None else bytes(record.key)
                    found[record.offset] = Seen(key, bytes(record.value or b""), record.timestamp)
                offset = max(offset, header.next_offset)
        except CorruptRecordError:
            return found
        if offset == before and topic == "compacted":
            return found  # Its last records may all be gone, as Kafka has it.
        if offset == before:
            raise WrongError(f"{topic}: nothing at {offset}, below {data.high_watermark}")
    raise WrongError(f"{topic} has no end")


def _is_aside(damage: Damage) -> bool:
    """Whether it cost no record, and nothing that a record cannot be found without."""
    return damage.path.endswith(ASIDE) and damage.kind != "made a folder"


def _check_code(code: int, what: str) -> None:
    if code == ErrorCode.UNKNOWN_SERVER_ERROR:
        raise WrongError(f"{what}: UNKNOWN_SERVER_ERROR")


def check_damaged(before: Before, seed: int) -> None:
    """One seed's damage. `WrongError` says what went wrong; what was done is noted with it."""
    random = Random(seed)
    files = restored(before.data)
    done = do_damage(files, before.data, random)
    faults = _Faults()
    logging.getLogger("kafkalite").addHandler(faults)
    try:
        run(lambda simulation: _serve(simulation, files, before, done), seed=1)
        if faults.told:
            raise WrongError(faults.told[0])
    except BaseException as error:
        error.add_note(f"seed {seed}: {', '.join(map(str, done))}")
        raise
    finally:
        logging.getLogger("kafkalite").removeHandler(faults)


async def _serve(
    simulation: Simulation, files: MemoryFiles, before: Before, done: list[Damage]
) -> None:
    """Twice: what the first life of the broker mended or made worse, the second one finds."""
    for _ in range(2):
        life = start(simulation, files, settings=SETTINGS)
        try:
            with explained("memory", BrokerConfig()):
                running = await life.__aenter__()
        except CommandError:
            return
        for topic in TOPICS:
            if topic in running.broker.image.topics:
                await _check_topic(running, topic, before, done)
        offset = await committed(running, "plain")
        if all(map(_is_aside, done)) and offset != COMMITTED:
            raise WrongError(f"the group committed {offset}")
        if offset not in (COMMITTED, 3, -1) and offset > -100:
            raise WrongError(f"the group committed {offset}")
        _check_code(-100 - offset if offset <= -100 else 0, "OffsetFetch")
        try:
            await life.__aexit__(None, None, None)
        except OSError:
            return


async def _check_topic(running: Running, topic: str, before: Before, done: list[Damage]) -> None:
    known = before.records[topic]
    found = await _read(running, topic, all_of_it=False)
    of_log = {each.kind for each in done if each.path.startswith(f"{topic}-0")}
    values = set(known.values())
    for offset, record in found.items():
        if record.value == b"after" or "swapped" in of_log:
            continue  # No batch says which topic it is of.
        if record not in values or (not of_log and known.get(offset) != record):
            raise WrongError(f"{topic} has {record} at {offset}")
    if all(map(_is_aside, done)) and not known.keys() <= found.keys():
        raise WrongError(f"{topic} lacks {sorted(known.keys() - found.keys())}")
    client = await running.client()
    for timestamp in (START_MS + 5, START_MS + 105, START_MS + 200, -1, -2, -3):
        request = list_offsets(topic, (0, timestamp))
        response = await client.ask(request, 7, ListOffsetsResponse)
        told = response.topics[0].partitions[0]
        _check_code(told.error_code, f"ListOffsets of {topic}")
        due = [offset for offset, record in known.items() if record.timestamp >= timestamp]
        if timestamp > 0 and due and all(map(_is_aside, done)) and told.offset != min(due):
            raise WrongError(f"{topic} has {timestamp} at {told.offset}, and not at {min(due)}")
    data = batch(b"after", timestamp=START_MS + 500, key=b"last")
    (answer,) = produced(await client.ask(produce(topic, {0: data}), PRODUCE, ProduceResponse))
    _check_code(answer.error_code, f"produce to {topic}")
    if answer.error_code == 0:
        again = await _read(running, topic, all_of_it=False)
        if again and max(again) == answer.base_offset and again[max(again)].value != b"after":
            raise WrongError(f"{topic} lacks what was appended at {answer.base_offset}")


class _Faults(logging.Handler):
    """What was logged with a traceback: nobody expected it."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.told.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

"""What every scenario of groups (`tests/scenarios`) has in its log after each of its commands, as
the real Kafka reads it: it lists and describes the same groups as kafkalite on the same folder,
with the same offsets. So with what earlier releases wrote (`old_records.py`).

All share one folder, so that Kafka is started once. Each has a group of its own then, topics have
the ids of the folder, and sessions of classic members are longer, for Kafka begins them anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.consumer_group_talk import Connection
from compat_tests.golden import turns
from compat_tests.old_records import old_records
from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import RealKafka
from compat_tests.told_groups import groups_at
from kafkalite.coordinator.groups.log_record import RecordBytes, decode_record, encode_record
from kafkalite.coordinator.partitioner import partition_for
from kafkalite.protocol.messages import (
    create_topics,
    find_coordinator,
    metadata,
    produce,
)
from kafkalite.protocol.messages.classic_group_records import GroupMetadataValue
from kafkalite.protocol.messages.consumer_group_records import ConsumerGroupMemberMetadataValue
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import TimestampMs, Uuid
from tests.coordinator.sample_consumers import id_of
from tests.scenarios.test_consumer_scenarios import FOLDER as CONSUMER_GROUPS
from tests.scenarios.test_consumer_scenarios import ConsumerStage
from tests.scenarios.test_group_scenarios import FOLDER as CLASSIC_GROUPS
from tests.scenarios.test_group_scenarios import Stage
from tests.scenarios.transcript import Command, play

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

TOPICS = ("t", "u", "v")
OFFSETS_TOPIC = "__consumer_offsets"
WHO_MAY_WRITE_IT = "__admin_client"
LONG_MS = 600_000


class Left(NamedTuple):
    """The log of a scenario, as far as it has come."""

    log: list[tuple[bytes, bytes | None]]
    has_group: bool


def played() -> dict[str, Left]:
    """What each scenario has left after each of its commands, by the name that its group has
    here."""
    left = {}
    for folder, kind in ((CLASSIC_GROUPS, Stage), (CONSUMER_GROUPS, ConsumerStage)):
        for path in sorted(folder.glob("*.txt")):
            for found in cut(kind(), path):
                left[f"{folder.name}/{path.stem}/{len(found.log)}"] = found
    return left


def cut(stage: Stage, path: Path) -> list[Left]:
    found: dict[int, Left] = {}

    def run(command: Command) -> Iterator[str]:
        yield from stage.run(command)
        recorded = stage.core.recorded
        has_group = "g" in recorded.groups or "g" in recorded.consumer_groups
        found[len(stage.log)] = Left(list(stage.log), has_group)

    play(path.read_text(encoding="utf-8"), run)
    found.pop(0, None)
    return list(found.values())


def moved(stored: tuple[bytes, bytes | None], group: str, ids: Mapping[str, Uuid]) -> RecordBytes:
    """The record as one of that group, about topics of those ids."""
    record = decode_record(*stored)
    setattr(record.key, "group" if hasattr(record.key, "group") else "group_id", group)
    match record.value:
        case GroupMetadataValue():
            for member in record.value.members:
                member.session_timeout = LONG_MS
        case ConsumerGroupMemberMetadataValue(classic_member_metadata=classic) if classic:
            classic.session_timeout_ms = LONG_MS
    key, value = encode_record(record)
    for name, topic_id in ids.items():
        value = value and value.replace(id_of(name), topic_id)
    return RecordBytes(key, value)


def write(connection: Connection, left: Mapping[str, Left]) -> list[str]:
    """Have all logs in the topic that coordinators will be loaded from. The groups of old
    records."""
    wanted = [
        create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in TOPICS
    ]
    request = create_topics.CreateTopicsRequest(topics=wanted, timeout_ms=5_000)
    made = connection.ask(request, 7, create_topics.CreateTopicsResponse)
    ids = {topic.name: topic.topic_id for topic in made.topics}
    find = find_coordinator.FindCoordinatorRequest(coordinator_keys=["g"])
    for _ in turns("a coordinator"):
        found = connection.ask(find, 4, find_coordinator.FindCoordinatorResponse)
        if not found.coordinators[0].error_code:
            break
    which = [metadata.MetadataRequestTopic(name=OFFSETS_TOPIC)]
    about = connection.ask(
        metadata.MetadataRequest(topics=which), 12, metadata.MetadataResponse
    ).topics[0]
    now = TimestampMs(time.time_ns() // 1_000_000)
    old = old_records(TOPICS[0], now)
    logs = {id: [moved(each, id, ids) for each in scenario.log] for id, scenario in left.items()}
    for group, log in (logs | old).items():
        batch = build_batch([Record(*each, timestamp=now) for each in log])
        index = partition_for(group, len(about.partitions))
        data = produce.PartitionProduceData(index=index, records=memoryview(batch))
        topic = produce.TopicProduceData(name=OFFSETS_TOPIC, partition_data=[data])
        answer = connection.ask(
            produce.ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[topic]),
            9,
            produce.ProduceResponse,
            client_id=WHO_MAY_WRITE_IT,
        )
        assert not answer.responses[0].partition_responses[0].error_code, answer
    return list(old)


def test_kafka_lists_the_groups_and_offsets_that_scenarios_leave(
    tmp_path: Path,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[[Path], RealKafka],
) -> None:
    left = played()
    data = tmp_path / "logs"
    broker = start_kafkalite(data)
    with closing(Connection(broker.address)) as connection:
        old = write(connection, left)
    assert broker.stop() == 0
    broker = start_kafkalite(data)
    ours = groups_at(broker.address, [*left, *old])
    assert broker.stop() == 0
    theirs = start_kafka(tmp_path)
    assert groups_at(theirs.address, [*left, *old]) == ours
    offsets, listed, described, _ = ours
    names = {group["group_id"] for group in listed["groups"]}
    assert names == {name for name, scenario in left.items() if scenario.has_group} | {*old}
    assert len(names) > 80
    kept = {group["group_id"] for group in offsets["groups"] if group["topics"]}
    assert kept >= {name for name in old if "group" not in name}
    assert len(kept - {*old}) > 5
    stable = {group["group_id"] for group in described["groups"] if group["members"]}
    assert stable >= {name for name in old if "group" in name}
    assert theirs.complaints() == []

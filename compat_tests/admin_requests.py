"""Requests about topics, partitions, records and the cluster. See `record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat_tests.config_requests import BOTH, Asked
from kafkalite.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkalite.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import Offset, TimestampMs

TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "adm-a": (1, {}),
    "adm-b": (3, {"retention.ms": "5000", "cleanup.policy": BOTH}),
    "adm-compact": (1, {"cleanup.policy": "compact"}),
    "adm-both": (1, {"cleanup.policy": "compact, delete", "segment.ms": " 77 "}),
    "adm-none": (1, {"cleanup.policy": ""}),
    "adm-records": (1, {}),
    "adm-x": (1, {}),
    "adm-z": (1, {}),
}


def requests() -> Iterator[Asked]:
    """All of them, in order."""
    yield CreateTopicsRequest(topics=[_topic(name) for name in TOPICS], timeout_ms=5_000), 6
    yield from _grow()
    yield from _delete_records()
    yield from _describe_topics()
    yield from _describe_cluster()


def _topic(name: str) -> CreatableTopic:
    partitions, configs = TOPICS[name]
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in configs.items()],
    )


def _grow() -> Iterator[Asked]:
    def ask(
        *topics: tuple[str, int, Sequence[Sequence[int]] | None],
        timeout_ms: int = 5_000,
        validate_only: bool = False,
        version: int = 3,
    ) -> Asked:
        asked = [
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if assigned is None
                else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assigned],
            )
            for name, count, assigned in topics
        ]
        return CreatePartitionsRequest(
            topics=asked, timeout_ms=timeout_ms, validate_only=validate_only
        ), version

    a, b, absent = "adm-a", "adm-b", "adm-absent"
    yield ask((a, 2, None), validate_only=True)
    yield ask((a, 2, None), timeout_ms=0)
    yield ask((a, 2, None), timeout_ms=-1)
    for count in (1, 0, -5, 10_002, 2**31 - 1):
        yield ask((a, count, None))
    yield ask((a, 10_001, None), validate_only=True)
    for name in (absent, "", "bad/name", "__cluster_metadata"):
        yield ask((name, 2, None))
    yield ask((absent, 30_000, None))
    yield ask((a, 3, None), (a, 4, None))
    for assigned in ([[1]], [[1]] * 3, [[1], [7]], [[1], []], [[1], [1, 1]], [], [[7], [7]]):
        yield ask((a, 3, assigned))
    yield ask((a, 6_000, None), (b, 6_000, None), validate_only=True)
    yield ask((a, 20_000, None), (absent, 3, None), (b, 2, None), validate_only=True)
    yield ask((a, 10_002, None), (b, 1, None))
    yield ask((a, 20_000, None), (a, 20_000, None), (b, 4, None), validate_only=True)
    yield ask((a, 2, [[1]] * 20))
    yield ask((a, 3, [[1], [1]]), validate_only=True)
    yield ask((a, 3, [[1], [1]]))
    yield ask((a, 5, None), version=0)
    for count in (5, 4):
        yield ask((a, count, None), version=1)
    yield ask((absent, 3, None), (a, 5, None), (absent, 3, None), (b, 4, None), validate_only=True)
    yield ask(version=2)


def _delete_records() -> Iterator[Asked]:
    def ask(
        *topics: tuple[str, Sequence[tuple[int, int]]], timeout_ms: int = 5_000, version: int = 2
    ) -> Asked:
        asked = [
            DeleteRecordsTopic(
                name=name,
                partitions=[
                    DeleteRecordsPartition(partition_index=index, offset=offset)
                    for index, offset in partitions
                ],
            )
            for name, partitions in topics
        ]
        return DeleteRecordsRequest(topics=asked, timeout_ms=timeout_ms), version

    topic = "adm-records"
    for name in (topic, topic, topic, "adm-a"):
        yield _produce(name, 3), 9
    for offset in (0, 2, 1, 2, 10, -2):
        yield ask((topic, [(0, offset)]))
    yield ask((topic, [(1, 0)]))
    for name in ("adm-absent", "bad/name", "adm-compact", "adm-both", "adm-none"):
        yield ask((name, [(0, 0)]))
    yield ask(("adm-compact", [(0, 1_000)]))
    yield ask(("__cluster_metadata", [(0, 0)]))
    yield ask((topic, [(0, 4), (0, 5)]))
    yield ask((topic, [(0, 3)]), (topic, [(0, 6)]))
    yield ask()
    yield ask((topic, []))
    yield ask((topic, [(0, 7)]), timeout_ms=0, version=0)
    yield ask((topic, [(0, 8)]), timeout_ms=-1, version=1)
    for offset in (-1, -1, 9):
        yield ask((topic, [(0, offset)]))
    yield ask(("adm-none", [(0, -1)]), ("adm-absent", [(0, 0)]), ("adm-compact", [(0, 0)]))


def _produce(topic: str, count: int) -> ProduceRequest:
    records = [
        Record(None, b"value", (), TimestampMs(1_700_000_000_000 + i), Offset(i))
        for i in range(count)
    ]
    data = PartitionProduceData(index=0, records=bytes(build_batch(records)))
    return ProduceRequest(
        acks=-1,
        timeout_ms=5_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def _describe_topics() -> Iterator[Asked]:
    a, b, absent = "adm-a", "adm-b", "adm-absent"
    pages: list[tuple[Sequence[str], int, tuple[str, int] | None]] = [
        *(((b, a), limit, None) for limit in (3, 5, 6, 8, 2_000)),
        *(((b, a), 2_000, at) for at in ((a, 2), (b, 1), (b, 3), (b, 100), ("adm-c", 0), (a, -1))),
        *(((a,), limit, None) for limit in (1, 0, -1)),
        ((a, a), 2_000, None),
        ((a, b), 2_000, ("", 0)),
        ((a, b), 1, (a, 4)),
        ((a, b), 2, (a, 4)),
        ((a, b), 1, (a, 5)),
        ((absent,), 1, None),
        ((absent,), 9, (absent, 5)),
        ((a, absent, b), 5, None),
        ((a, absent, b), 6, None),
        ((absent, "adm-absent-2"), 1, None),
        (("bad/name", ".", a), 9, None),
        (("",), 9, None),
        ((a, ""), 9, None),
    ]
    for names, limit, cursor in pages:
        yield (
            DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=name) for name in names],
                response_partition_limit=limit,
                cursor=None
                if cursor is None
                else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
            ),
            0,
        )


def _describe_cluster() -> Iterator[Asked]:
    a, b, absent = "adm-a", "adm-b", "adm-absent"
    for version in range(3):
        for wanted in (False, True):
            yield (
                DescribeClusterRequest(
                    include_cluster_authorized_operations=wanted,
                    include_fenced_brokers=version == 2,
                ),
                version,
            )
    for endpoint in (0, 2, 3, -1):
        yield DescribeClusterRequest(endpoint_type=endpoint), 1
    for moving in (None, [], [(a, [0])], [(absent, [0])], [(a, [77])], [("bad/name", [0])]):
        yield (
            ListPartitionReassignmentsRequest(
                topics=None
                if moving is None
                else [
                    ListPartitionReassignmentsTopics(name=n, partition_indexes=p) for n, p in moving
                ]
            ),
            0,
        )
    folders: list[list[tuple[str, list[int]]]] = [
        [],
        [(a, [0])],
        [(a, [0, 1, 2]), (b, [2])],
        [(a, [77]), (absent, [0])],
        [(a, [])],
        [(a, [0, 0]), (a, [1])],
        [("adm-records", [0])],
    ]
    for version in range(1, 6):
        for topics in folders if version == 5 else folders[1:2]:
            asked = [DescribableLogDirTopic(topic=name, partitions=p) for name, p in topics]
            yield DescribeLogDirsRequest(topics=asked), version

"""Requests about leaders, replicas and the quorum, as one broker answers them. See
`record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat_tests.config_requests import Asked
from kafkalite.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from kafkalite.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.protocol.messages.unregister_broker import UnregisterBrokerRequest

PREFERRED, UNCLEAN = 0, 1
HERE = 1
"""The broker that is asked."""
A, B, ABSENT = "adm-a", "adm-b", "adm-absent"
QUORUM = "__cluster_metadata"


def requests() -> Iterator[Asked]:
    """All of them, in order. No replica moves: there is nowhere to go."""
    yield from _elect()
    yield from _reassign()
    yield from _list()
    for id in (99, -1, 2**31 - 1):
        yield UnregisterBrokerRequest(broker_id=id), 0
    for version in range(3):  # What it is asked for tells epochs and offsets, which are its own.
        yield _describe_quorum((A, [0]), version=version)
    for asked in ((QUORUM, [1]), (QUORUM, [0, 1]), (QUORUM, [])):
        yield _describe_quorum(asked)
    yield _describe_quorum((A, [0]), (QUORUM, [0]))
    yield _describe_quorum()


def _elect() -> Iterator[Asked]:
    def ask(
        *topics: tuple[str, Sequence[int]],
        election_type: int = PREFERRED,
        timeout_ms: int = 5_000,
        version: int = 2,
    ) -> Asked:
        return ElectLeadersRequest(
            election_type=election_type,
            topic_partitions=[
                TopicPartitions(topic=name, partitions=list(indexes)) for name, indexes in topics
            ],
            timeout_ms=timeout_ms,
        ), version

    for version in range(3):
        yield ask((A, [0, 77, -1]), (ABSENT, [0]), version=version)
    yield ask((A, [0, 0]), (B, []), (B, [1]), ("bad/name", [0]), ("", [0]))
    yield ask((A, [0, 77]), (ABSENT, [0]), election_type=UNCLEAN)
    yield ask((A, [0, 1]), (B, [0]), election_type=7)
    yield ask((A, [0]), election_type=-1, version=1)
    yield ask(election_type=7)
    yield ask()
    for timeout_ms in (0, -1):
        yield ask((A, [0]), timeout_ms=timeout_ms)
    yield ask((A, [0]), timeout_ms=0, version=0)


def _reassign() -> Iterator[Asked]:
    def ask(
        *topics: tuple[str, Sequence[tuple[int, Sequence[int] | None]]],
        allow_replication_factor_change: bool = True,
        timeout_ms: int = 5_000,
        version: int = 1,
    ) -> Asked:
        return AlterPartitionReassignmentsRequest(
            timeout_ms=timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=[
                ReassignableTopic(
                    name=name,
                    partitions=[
                        ReassignablePartition(
                            partition_index=index, replicas=None if ids is None else list(ids)
                        )
                        for index, ids in partitions
                    ],
                )
                for name, partitions in topics
            ],
        ), version

    odd: list[tuple[int, Sequence[int] | None]] = [
        (0, [HERE]),
        (0, [99]),
        (77, [HERE]),
        (-1, None),
        (0, []),
        (0, [HERE, HERE]),
        (0, None),
        (0, [HERE, 99]),
        (0, [99, 98]),
        (0, [-1]),
    ]
    for version in range(2):
        yield ask((A, odd), (ABSENT, [(0, [HERE])]), version=version)
    for allow in (True, False):
        yield ask((A, [(0, [HERE])]), allow_replication_factor_change=allow)
        yield ask((A, [(0, []), (0, [HERE, 99])]), allow_replication_factor_change=allow)
    yield ask((A, [(0, None)]), (A, [(1, None)]), ("", [(0, None)]), (B, []))
    yield ask()
    yield ask((A, [(0, [HERE])]), timeout_ms=0, allow_replication_factor_change=False)
    yield ask(timeout_ms=-1, version=0)


def _list() -> Iterator[Asked]:
    for timeout_ms in (5_000, 0):
        yield ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None), 0
        yield ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=[]), 0
    asked = [
        ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes)
        for name, indexes in ((A, [0, 77, -1]), (ABSENT, [0]), (B, []))
    ]
    yield ListPartitionReassignmentsRequest(topics=asked), 0


def _describe_quorum(*topics: tuple[str, Sequence[int]], version: int = 2) -> Asked:
    return DescribeQuorumRequest(
        topics=[
            DescribeQuorumRequestTopicData(
                topic_name=name,
                partitions=[
                    DescribeQuorumRequestPartitionData(partition_index=index) for index in indexes
                ],
            )
            for name, indexes in topics
        ]
    ), version

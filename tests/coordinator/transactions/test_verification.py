"""What a coordinator is asked before an append, and what its answer means to each client."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    VerifyPartitions,
)
from kafkalite.coordinator.transactions.verification import (
    Client,
    question,
    refusals,
    what_cannot_be_added,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import TopicPartition
from tests.coordinator.transactions.sample_transactions import ID, OTHER, PARTITION, producer
from tests.metadata.sample_changes import image_of, partition, topic

BOTH = frozenset({PARTITION, OTHER})
ADD = AddPartitions(None, ID, producer(), BOTH, 2)
VERIFY = VerifyPartitions(None, ID, producer(), BOTH)
OLD, ABORTABLE, ADDS = Client


def test_a_client_is_known_by_the_version_of_its_request() -> None:
    versions = [
        Client.of(version, knows_abortable_from=4, leaves_adding_from=5) for version in (3, 4, 5, 6)
    ]
    assert versions == [OLD, ABORTABLE, ADDS, ADDS]


@pytest.mark.parametrize("verifies", [True, False])
def test_what_is_asked(*, verifies: bool) -> None:
    def asked(client: Client) -> object:
        return question(ID, producer(), BOTH, client, verifies=verifies)

    assert asked(ADDS) == ADD
    assert asked(OLD) == asked(ABORTABLE) == (VERIFY if verifies else None)


@pytest.mark.parametrize(
    ("code", "old", "abortable", "adds"),
    [
        ("NONE", "NONE", "NONE", "NONE"),
        (
            "TRANSACTION_ABORTABLE",
            "INVALID_TXN_STATE",
            "TRANSACTION_ABORTABLE",
            "TRANSACTION_ABORTABLE",
        ),
        ("PRODUCER_FENCED", *["INVALID_PRODUCER_EPOCH"] * 3),
        ("COORDINATOR_LOAD_IN_PROGRESS", *["NOT_ENOUGH_REPLICAS"] * 3),
        ("COORDINATOR_NOT_AVAILABLE", *["NOT_ENOUGH_REPLICAS"] * 3),
        ("NOT_COORDINATOR", *["NOT_ENOUGH_REPLICAS"] * 3),
        (
            "CONCURRENT_TRANSACTIONS",
            "NOT_ENOUGH_REPLICAS",
            "NOT_ENOUGH_REPLICAS",
            "CONCURRENT_TRANSACTIONS",
        ),
        ("INVALID_PRODUCER_ID_MAPPING", *["INVALID_PRODUCER_ID_MAPPING"] * 3),
    ],
)
def test_each_client_is_told_what_it_knows(code: str, old: str, abortable: str, adds: str) -> None:
    for client, told in ((OLD, old), (ABORTABLE, abortable), (ADDS, adds)):
        one = PartitionsVerified({PARTITION: ErrorCode[code], OTHER: ErrorCode.NONE})
        of_one = refusals(VERIFY, one, client)
        whole = refusals(VERIFY, KafkaError(ErrorCode[code]), client)
        if code == "NONE":
            assert of_one == whole == {}
        else:
            assert {place: why.code for place, why in of_one.items()} == {
                PARTITION: ErrorCode[told]
            }
            assert whole == dict.fromkeys(BOTH, of_one[PARTITION])


def test_some_are_told_why() -> None:
    for code, client, why in (
        ("TRANSACTION_ABORTABLE", OLD, "Partition was not added to the transaction"),
        ("TRANSACTION_ABORTABLE", ABORTABLE, ""),
        ("CONCURRENT_TRANSACTIONS", ADDS, ""),
        (
            "CONCURRENT_TRANSACTIONS",
            OLD,
            "Unable to verify the partition has been added to the transaction. "
            "Underlying error: CONCURRENT_TRANSACTIONS",
        ),
    ):
        told = refusals(VERIFY, KafkaError(ErrorCode[code]), client)
        assert told[PARTITION].message == why


def test_what_was_added_is_not_refused() -> None:
    assert refusals(ADD, PartitionsAdded(), ADDS) == {}


@pytest.mark.parametrize("by_client", [True, False])
def test_all_that_is_asked_about_must_exist_and_be_no_topic_of_the_brokers_own(
    *, by_client: bool
) -> None:
    image = image_of(
        topic("topic", 1),
        partition(1, 0, [1]),
        partition(1, 1, [1]),
        topic("__consumer_offsets", 2),
        partition(2, 0, [1]),
    )
    missing, unknown = TopicPartition("topic", 2), TopicPartition("absent", 0)
    internal, other = (TopicPartition("__consumer_offsets", index) for index in (0, 1))

    def codes(*partitions: TopicPartition) -> list[ErrorCode]:
        found = what_cannot_be_added(frozenset(partitions), image, by_client=by_client)
        assert list(found) == (sorted(partitions) if found else [])
        return [found[each] for each in partitions] if found else []

    lost, skipped = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert codes(PARTITION, OTHER) == []
    assert codes(PARTITION, missing, unknown) == [skipped, lost, lost]
    assert codes(TopicPartition("topic", -1)) == [lost]
    assert codes(PARTITION, internal) == ([skipped, denied] if by_client else [])
    assert codes(PARTITION, other) == [skipped, denied if by_client else lost]

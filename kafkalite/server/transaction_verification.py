"""Asks the coordinator of a transaction about partitions, and hands on what that means:
`coordinator.transactions.verification` says what, this says whom.

A producer that has an open transaction in the partition already is not asked about again.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    Producer,
    VerifyPartitions,
)
from kafkalite.coordinator.transactions.verification import (
    Client,
    Refusals,
    question,
    refusals,
    what_cannot_be_added,
)
from kafkalite.errors import KafkaError
from kafkalite.server.core_driver import OnReply
from kafkalite.server.request import Services
from kafkalite.server.transaction_coordinators import TransactionCoordinators
from kafkalite.types import TopicPartition


def ask_about_existing(
    services: Services,
    event: AddPartitions,
    on_reply: OnReply,
    *,
    verifies: bool,
    of_client: bool,
) -> None:
    """Ask the coordinator to add these, or only whether they are added. `on_reply` gets
    `PartitionsVerified` at once where `what_cannot_be_added` says so."""
    codes = what_cannot_be_added(event.partitions, services.image, by_client=of_client)
    if codes:
        on_reply(PartitionsVerified(codes))
    elif verifies:
        services.transactions.ask_about(
            VerifyPartitions(None, event.transactional_id, event.producer, event.partitions),
            on_reply,
        )
    else:
        services.transactions.ask_about(event, on_reply)


def verify(
    transactions: TransactionCoordinators,
    transactional_id: str,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    client: Client,
    on_refusals: Callable[[Refusals], None],
) -> None:
    """Call `on_refusals`, now or later, with what partitions' appends are to be refused with."""
    verifies = transactions.verifies_partitions
    asked = question(transactional_id, producer, partitions, client, verifies=verifies)
    if asked is None:
        on_refusals({})
        return

    def on_reply(reply: object) -> None:
        assert isinstance(reply, PartitionsAdded | PartitionsVerified | KafkaError), reply
        on_refusals(refusals(asked, reply, client))

    transactions.ask_wherever(asked, on_reply)

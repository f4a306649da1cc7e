"""A change of the in-sync replicas that a leader wants, and what a refusal of it means.

Source: KIP-497, KIP-903; Kafka's `Partition.handleAlterPartitionError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, LeaderEpoch

ActiveBrokers = Mapping[BrokerId, BrokerEpoch]
"""The brokers that may be in sync, neither fenced nor about to stop, and the epoch of each. The
same one for all leaders of a broker, which changes under them as the metadata does."""


class IsrProposal(NamedTuple):
    """A change of the ISR that the controller is to make, if nothing else has changed since."""

    leader_epoch: LeaderEpoch
    partition_epoch: int
    isr: tuple[IsrMember, ...]
    joining: BrokerId | None
    """Who is to join; None: some are to leave."""


class Refusal(Enum):
    """What is to become of a proposal that the controller has not followed."""

    DROPPED = auto()
    """Nothing was changed, and nothing is under way: what is right may be proposed anew."""
    OUTDATED = auto()
    """Something has changed that the metadata is about to tell; until then the proposal stands."""
    ASKED_AGAIN = auto()
    """The reason passes."""


def meaning_of(code: ErrorCode) -> Refusal:
    """Of an error that the controller answers for one partition, or for all."""
    return _MEANINGS.get(code, Refusal.ASKED_AGAIN)


_MEANINGS = {
    ErrorCode.OPERATION_NOT_ATTEMPTED: Refusal.DROPPED,
    ErrorCode.INELIGIBLE_REPLICA: Refusal.DROPPED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Refusal.OUTDATED,
    ErrorCode.UNKNOWN_TOPIC_ID: Refusal.OUTDATED,
    ErrorCode.FENCED_LEADER_EPOCH: Refusal.OUTDATED,
    ErrorCode.INVALID_UPDATE_VERSION: Refusal.OUTDATED,
    ErrorCode.INVALID_REQUEST: Refusal.OUTDATED,
    ErrorCode.NEW_LEADER_ELECTED: Refusal.OUTDATED,
}

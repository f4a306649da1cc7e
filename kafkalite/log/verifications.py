"""Producers whose transactions are asked about (KIP-890): between the question whether a partition
belongs to a transaction and the append the transaction may end, and its records would then be open
in the partition for ever. And of those that were refused the first has to come again before the
others.

Kafka differs: a batch of a later epoch, which the coordinator refuses, leaves the partition waiting
for its sequence there, also amid the transaction that is open, whose next batch is told
OUT_OF_ORDER_SEQUENCE_NUMBER. Here an open transaction waits for nobody else's batch.

Source: Kafka's `VerificationGuard` and `VerificationStateEntry`.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs


class Verification:
    """From a producer's first question to its first append, or to a marker; what the answer to a
    question counts for."""

    __slots__ = ("bumps_epoch", "epoch", "lowest_sequence", "since_ms")

    def __init__(
        self, epoch: ProducerEpoch, sequence: int, since_ms: TimestampMs, *, bumps_epoch: bool
    ) -> None:
        self.bumps_epoch = bumps_epoch
        """Whether markers have an epoch above their transaction's."""
        self.epoch = epoch
        self.lowest_sequence = sequence
        """Of the batches of that epoch that were asked about."""
        self.since_ms = since_ms


class Verifications:
    """Those of one log. They outlive a change of its leader: what ends them, followers have too."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[ProducerId, Verification] = {}

    def begin(
        self,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        sequence: int,
        now: TimestampMs,
        *,
        bumps_epoch: bool,
    ) -> Verification:
        """The coordinator is about to be asked about a batch: what `refusal` is to be given.
        `bumps_epoch`: the producer has version 2 of the protocol."""
        known = self._of.get(producer_id)
        if known is None:
            known = Verification(epoch, sequence, now, bumps_epoch=bumps_epoch)
            self._of[producer_id] = known
        elif epoch > known.epoch:
            known.epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.epoch and sequence < known.lowest_sequence:
            known.lowest_sequence = sequence
        return known

    def refusal(
        self, producer_id: ProducerId, verification: Verification, sequence: int
    ) -> ErrorCode:
        """What a batch is refused with that the coordinator has nothing against: INVALID_TXN_STATE
        when a marker has come since, OUT_OF_ORDER_SEQUENCE_NUMBER for one behind another that is
        still to come; or NONE."""
        if self._of.get(producer_id) is not verification:
            return ErrorCode.INVALID_TXN_STATE
        if sequence > verification.lowest_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE

    def appended(self, producer_id: ProducerId) -> None:
        """Its transaction is open in the log."""
        self._of.pop(producer_id, None)

    def transaction_ended(self, producer_id: ProducerId, marker_epoch: ProducerEpoch) -> None:
        """It is over, unless the marker is that of the transaction before."""
        known = self._of.get(producer_id)
        if known is not None and not (known.bumps_epoch and marker_epoch == known.epoch):
            del self._of[producer_id]

    def remove_expired(self, now: TimestampMs, expiration_ms: int) -> None:
        """Forget what has led to nothing for so long."""
        for producer_id, each in list(self._of.items()):
            if now - each.since_ms >= expiration_ms:
                del self._of[producer_id]

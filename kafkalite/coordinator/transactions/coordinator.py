"""The transactional ids of one partition of `__transaction_state`: routes events to those who
decide them.

A transaction ends in two records: the first decides its outcome, and sends markers to all of its
partitions; the second follows when they are written. Between the two the outcome stands, whatever
crashes: what is loaded prepared is finished.

Kafka differs: it looks for transactions that have timed out every ten seconds
(`transaction.abort.timed.out.transaction.cleanup.interval.ms`). Here each ends when its time is up.

Source: Kafka's `TransactionCoordinator` and `TransactionStateManager`.
"""

from __future__ import annotations

from typing import Final, assert_never

from kafkalite.coordinator.transactions.ending import (
    completed,
    ended_by_producer,
    fenced,
    fencing_needs_fresh_id,
    going_on_as,
    needs_fresh_id,
)
from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    DescribeTransactions,
    EndTransaction,
    Event,
    ExpireTransactionalIds,
    InitProducerId,
    ListedTransaction,
    ListTransactions,
    Loaded,
    MarkersWritten,
    NeedProducerId,
    PartitionsAdded,
    Producer,
    ProducerIdGiven,
    ProducerIdNeeded,
    ProtocolChanged,
    TransactionDescribed,
    TransactionEnding,
    TransactionsListed,
    TransactionTimedOut,
    VerifyPartitions,
    WriteMarkers,
)
from kafkalite.coordinator.transactions.initialization import (
    check_expected,
    check_request,
    initialized,
)
from kafkalite.coordinator.transactions.partitions import verified, with_partitions
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.settings import TransactionSettings
from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.core import CancelTimer, Outcome, Reply, Send, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import TimestampMs

TransactionOutcome = Outcome[Event, Record]
RETRY_MS: Final = 1_000
"""After a record that the log did not take."""


class TransactionCoordinator:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(
        self, settings: TransactionSettings | None = None, *, protocol_version: int = 0
    ) -> None:
        """Without ids: `apply` the log, then decide on `Loaded`. `protocol_version`: the cluster's
        `transaction.version`, until it is told another: how it ends what no client has ended."""
        self._settings = settings or TransactionSettings()
        self._protocol_version = protocol_version
        self._transactions: dict[str, Transaction] = {}

    @property
    def transactions(self) -> dict[str, Transaction]:
        """What the applied records made; not to be changed."""
        return self._transactions

    def apply(self, record: Record) -> None:
        """Fold one record of the log in."""
        if record.transaction is None:
            self._transactions.pop(record.transactional_id, None)
        else:
            self._transactions[record.transactional_id] = record.transaction

    def refused(
        self, records: tuple[Record, ...], error: KafkaError, now: TimestampMs
    ) -> TransactionOutcome:
        """The log has not taken these. Whoever asked for it is refused; what nobody asks for again
        is tried again: the abort of what is open for too long, and the record that a prepared one
        is over."""
        timers: list[SetTimer[Event]] = []
        again = now + RETRY_MS
        for transactional_id, _ in records:
            transaction = self._transactions.get(transactional_id)
            if transaction is None:
                continue
            if transaction.state is TransactionState.ONGOING:
                timers.append(_timeout(transactional_id, transaction, at_least_ms=again))
            elif transaction.state.is_prepared:
                written = MarkersWritten(transactional_id, _now(transaction))
                timers.append(SetTimer(("complete", transactional_id), TimestampMs(again), written))
        return Outcome(timers=tuple(timers))

    def decide(self, event: Event, now: TimestampMs) -> TransactionOutcome:
        """Records, replies, markers to be sent, and timers."""
        match event:
            case InitProducerId():
                return self._initialize(event, now)
            case AddPartitions():
                return self._add(event, now)
            case VerifyPartitions():
                known = self._transactions.get(event.transactional_id)
                return Outcome(replies=(Reply(event.token, verified(known, event)),))
            case EndTransaction():
                return self._end(event, now)
            case MarkersWritten():
                return self._complete(event, now)
            case TransactionTimedOut():
                return self._time_out(event, now)
            case ProtocolChanged():
                self._protocol_version = event.protocol_version
                return Outcome()
            case DescribeTransactions():
                return self._describe(event)
            case ListTransactions():
                listed = tuple(map(ListedTransaction, *self._columns()))
                return Outcome(replies=(Reply(event.token, TransactionsListed(listed)),))
            case ExpireTransactionalIds():
                return Outcome(records=self._expired(now), timers=(self._expiry(now),))
            case Loaded():
                return self._load(now)
            case _:
                assert_never(event)

    def _columns(self) -> tuple[list[str], list[Transaction]]:
        return list(self._transactions), list(self._transactions.values())

    def _initialize(self, event: InitProducerId, now: TimestampMs) -> TransactionOutcome:
        check_request(event, self._settings)
        transaction = self._transactions.get(event.transactional_id)
        if transaction is not None and transaction.state is TransactionState.ONGOING:
            # The one who asks is to come back: by then the abort has fenced the other.
            check_expected(transaction, event.expected)
            if event.fresh_id is None and self._fencing_needs_fresh_id(transaction):
                return Outcome(replies=(Reply(event.token, ProducerIdNeeded()),))
            aborted = fenced(transaction, self._protocol_version, event.fresh_id, now)
            refusal = Reply(event.token, KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS))
            return _prepare(event.transactional_id, aborted, refusal)
        changed = initialized(transaction, event, now)
        if changed is None:
            return Outcome(replies=(Reply(event.token, ProducerIdNeeded()),))
        self._check_recordable(changed)
        given = ProducerIdGiven(Producer(changed.producer_id, changed.producer_epoch))
        return Outcome(
            records=(Record(event.transactional_id, changed),),
            replies=(Reply(event.token, given),),
        )

    def _add(self, event: AddPartitions, now: TimestampMs) -> TransactionOutcome:
        before = self._transactions.get(event.transactional_id)
        reply = Reply(event.token, PartitionsAdded())
        changed = with_partitions(before, event, now)
        if changed is None:
            return Outcome(replies=(reply,))
        self._check_recordable(changed)
        begins = before is None or before.state is not TransactionState.ONGOING
        return Outcome(
            records=(Record(event.transactional_id, changed),),
            replies=(reply,),
            timers=(_timeout(event.transactional_id, changed),) if begins else (),
        )

    def _end(self, event: EndTransaction, now: TimestampMs) -> TransactionOutcome:
        transaction = self._transactions.get(event.transactional_id)
        if event.fresh_id is None and needs_fresh_id(transaction, event):
            return Outcome(replies=(Reply(event.token, ProducerIdNeeded()),))
        prepared = ended_by_producer(transaction, event, now)
        if prepared is None:
            assert transaction is not None, event
            return Outcome(replies=(Reply(event.token, TransactionEnding(_now(transaction))),))
        self._check_recordable(prepared)
        reply = Reply(event.token, TransactionEnding(going_on_as(prepared)))
        return _prepare(event.transactional_id, prepared, reply)

    def _check_recordable(self, changed: Transaction) -> None:
        """UNSUPPORTED_VERSION for what only records of a higher `transaction.version` hold. What
        the coordinator does by itself, it does: of that the version of the client is lost."""
        if self._protocol_version == 0 and changed.protocol_version > 0:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _complete(self, event: MarkersWritten, now: TimestampMs) -> TransactionOutcome:
        """What is not prepared any more was finished by an earlier word of the same."""
        transaction = self._transactions.get(event.transactional_id)
        if (
            transaction is None
            or not transaction.state.is_prepared
            or _now(transaction) != event.producer
        ):
            return Outcome()
        return Outcome(records=(Record(event.transactional_id, completed(transaction, now)),))

    def _time_out(self, event: TransactionTimedOut, now: TimestampMs) -> TransactionOutcome:
        transaction = self._transactions.get(event.transactional_id)
        if (
            transaction is None
            or transaction.state is not TransactionState.ONGOING
            or _now(transaction) != event.producer
        ):
            return Outcome()
        id = event.transactional_id
        if event.fresh_id is None and self._fencing_needs_fresh_id(transaction):
            return Outcome(sends=(Send(None, NeedProducerId(id, event.producer), id),))
        return _prepare(id, fenced(transaction, self._protocol_version, event.fresh_id, now))

    def _fencing_needs_fresh_id(self, transaction: Transaction) -> bool:
        return fencing_needs_fresh_id(transaction, self._protocol_version)

    def _describe(self, event: DescribeTransactions) -> TransactionOutcome:
        if not event.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        transaction = self._transactions.get(event.transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return Outcome(replies=(Reply(event.token, TransactionDescribed(transaction)),))

    def _expired(self, now: TimestampMs) -> tuple[Record, ...]:
        """Ids whose last transaction is over for long enough."""
        oldest = now - self._settings.id_expiration_ms
        return tuple(
            Record(transactional_id, None)
            for transactional_id, transaction in self._transactions.items()
            if transaction.state.is_over and transaction.updated_ms <= oldest
        )

    def _expiry(self, now: TimestampMs) -> SetTimer[Event]:
        at_ms = TimestampMs(now + self._settings.expiration_check_interval_ms)
        return SetTimer(("expiry",), at_ms, ExpireTransactionalIds())

    def _load(self, now: TimestampMs) -> TransactionOutcome:
        """Finish what is prepared; what is open has the time that is left of its own."""
        items = self._transactions.items()
        return Outcome(
            sends=tuple(_markers(id, each) for id, each in items if each.state.is_prepared),
            timers=(
                self._expiry(now),
                *(
                    _timeout(id, each)
                    for id, each in items
                    if each.state is TransactionState.ONGOING
                ),
            ),
        )


def _now(transaction: Transaction) -> Producer:
    return Producer(transaction.producer_id, transaction.producer_epoch)


def _prepare(transactional_id: str, prepared: Transaction, *replies: Reply) -> TransactionOutcome:
    return Outcome(
        records=(Record(transactional_id, prepared),),
        replies=replies,
        sends=(_markers(transactional_id, prepared),),
        timers=(CancelTimer(("timeout", transactional_id)),),
    )


def _markers(transactional_id: str, prepared: Transaction) -> Send:
    markers = WriteMarkers(
        transactional_id,
        _now(prepared),
        prepared.state is TransactionState.PREPARE_COMMIT,
        prepared.partitions,
        prepared.protocol_version,
    )
    return Send(None, markers, transactional_id)


def _timeout(
    transactional_id: str, transaction: Transaction, at_least_ms: int = 0
) -> SetTimer[Event]:
    due_ms = transaction.started_ms + transaction.timeout_ms + 1
    at_ms = TimestampMs(max(due_ms, at_least_ms))
    event = TransactionTimedOut(transactional_id, _now(transaction))
    return SetTimer(("timeout", transactional_id), at_ms, event)

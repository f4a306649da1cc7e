"""ListTransactions: the transactional ids that this broker coordinates.

Versions: 0 to 2 (KIP-664).
- 1 those that have been open for longer than a time (KIP-994). 2 a pattern of ids (KIP-1152).

State filters that name no state are told back, and filter all out. Patterns are of RE2, for whole
ids.

Kafka differs: its RE2 is another one, which refuses two groups of one name and `\\C`; here both are
taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafkalite.coordinator.transactions import events
from kafkalite.coordinator.transactions.state import TransactionState as State
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_requests import ask_for
from kafkalite.types import TimestampMs

API = Api(
    ApiKey.LIST_TRANSACTIONS,
    ListTransactionsRequest,
    ListTransactionsResponse,
    min_version=0,
    max_version=2,
)

_STATES = {state.kafka_name: state for state in State}


class _Filter(NamedTuple):
    states: frozenset[State] | None
    """None: all; so with the others."""
    producer_ids: frozenset[int] | None
    longer_than_ms: int | None
    matches: Callable[[str], object] | None
    """Of an id: None where it does not."""

    def takes(self, listed: events.ListedTransaction, now: TimestampMs) -> bool:
        transaction = listed.transaction
        return (
            (self.states is None or transaction.state in self.states)
            and (self.producer_ids is None or transaction.producer_id in self.producer_ids)
            and (self.longer_than_ms is None or now - transaction.started_ms > self.longer_than_ms)
            and (self.matches is None or self.matches(listed.transactional_id) is not None)
        )


def handle(
    ctx: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse | Parked:
    """Ask every coordinator here."""
    wanted = _filter(request)
    unknown = [name for name in request.state_filters if name not in _STATES]

    def answer(replies: list[object] | KafkaError) -> ListTransactionsResponse:
        if isinstance(replies, KafkaError):
            return refuse(request, replies.code, replies.message)
        now = ctx.services.clock.now_ms()
        response = ListTransactionsResponse(unknown_state_filters=unknown)
        for each in replies:
            if isinstance(each, KafkaError):
                return refuse(request, each.code, each.message)
            assert isinstance(each, events.TransactionsListed), each
            response.transaction_states += [
                TransactionState(
                    transactional_id=listed.transactional_id,
                    producer_id=listed.transaction.producer_id,
                    transaction_state=listed.transaction.state.kafka_name,
                )
                for listed in each.transactions
                if wanted.takes(listed, now)
            ]
        return response

    submit = partial(ctx.services.transactions.ask_all, events.ListTransactions(None))
    return ask_for(ctx, submit, list, answer)


def refuse(
    request: ListTransactionsRequest, code: ErrorCode, message: str
) -> ListTransactionsResponse:
    """The code."""
    return ListTransactionsResponse(error_code=code)


def _filter(request: ListTransactionsRequest) -> _Filter:
    names, ids, pattern = (
        request.state_filters,
        request.producer_id_filters,
        request.transactional_id_pattern,
    )
    return _Filter(
        frozenset(_STATES[name] for name in names if name in _STATES) if names else None,
        frozenset(ids) if ids else None,
        request.duration_filter if request.duration_filter >= 0 else None,
        _matching(pattern) if pattern else None,
    )


def _matching(pattern: str) -> Callable[[str], object]:
    """INVALID_REGULAR_EXPRESSION for a pattern that is none."""
    import re2  # Imported by the first request that has one.

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        matches: Callable[[str], object] = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from None
    return matches

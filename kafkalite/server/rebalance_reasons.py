"""Why groups rebalanced, as `kafkalite groups describe` is told it: in a tagged field that is
kafkalite's own, of ConsumerGroupDescribe.

Who sends the field with the request gets one at each group of any kind for which it is known.
Everybody else is told what Kafka tells, and Kafka passes the field over.

    time in ms (int64) | reason (UTF-8)
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from kafkalite.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
)
from kafkalite.protocol.schema import RawTaggedField

_TAG: Final = 0x6B61
_TIME = Struct(">q")


class LastRebalance(NamedTuple):
    """Of one group."""

    reason: str
    at_ms: int


def ask_for_reasons(request: ConsumerGroupDescribeRequest) -> None:
    """The other end is to tell them, if it is kafkalite."""
    request.unknown_tagged_fields = (RawTaggedField(_TAG, b""),)


def asks_for_reasons(request: ConsumerGroupDescribeRequest) -> bool:
    """Whether the client wants to be told."""
    return any(field.tag == _TAG for field in request.unknown_tagged_fields)


def tell_reason(group: DescribedGroup, last: LastRebalance) -> None:
    """With what else is told of it."""
    data = _TIME.pack(last.at_ms) + last.reason.encode(errors="replace")
    group.unknown_tagged_fields = (RawTaggedField(_TAG, data),)


def read_reason(group: DescribedGroup) -> LastRebalance | None:
    """None: it is not told."""
    for field in group.unknown_tagged_fields:
        if field.tag == _TAG and len(field.data) >= _TIME.size:
            (at_ms,) = _TIME.unpack_from(field.data)
            return LastRebalance(field.data[_TIME.size :].decode(errors="replace"), at_ms)
    return None

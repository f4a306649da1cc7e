"""The one look that a coordinator takes into what classic consumers tell their leader.

    version (int16) | topics (int32 count, each int16 length and UTF-8) | what later versions add

Version 0 stands in front of all later ones, so a version is not asked for. Needed to know which
committed offsets are in use. Source: Kafka's `ConsumerProtocol`.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, error

_HEAD = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics that these mention; None when one of them cannot be read."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            topics.update(_topics(subscription))
    except (error, ValueError):
        return None
    return frozenset(topics)


def _topics(subscription: bytes) -> Iterable[str]:
    version, count = _HEAD.unpack_from(subscription)
    if version < 0 or count < 0:
        raise ValueError("a subscription with a negative version or length")
    position = _HEAD.size
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(subscription, position)
        position += _LENGTH.size
        name = subscription[position : position + length]
        if length < 0 or len(name) < length:
            raise ValueError("a subscription that ends within a topic")
        yield name.decode()
        position += length

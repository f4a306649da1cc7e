"""Who coordinates what: which internal topic, and which of its partitions, keeps the state of the
thing that a key names. The leader of that partition is its coordinator.

    key type       key                                topic
    0 group        the group's id                     __consumer_offsets
    1 transaction  the transactional id               __transaction_state
    2 share        group id : topic id : partition    __share_group_state

Source: Kafka's `KafkaApis.getCoordinator`, `GroupCoordinatorService.partitionFor`,
`TransactionStateManager.partitionFor`, `SharePartitionKey`; Java's `String.hashCode`.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import TopicImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kafkalite.types import BrokerId, format_uuid, parse_uuid

MOST_HASHES: Final = 16_384
"""That are remembered: the ids of a large group's members are needed with each assignment."""
MOST_CHARACTERS: Final = 256
"""Of a text whose hash is remembered: clients may ask for any, and long ones would fill memory."""
_LEAST_INT32 = -(1 << 31)
_BLANKS = "".join(map(chr, range(0x21)))
"""What Java's `String.trim` takes away."""


class CoordinatorType(IntEnum):
    """The protocol's numbers for the kinds of keys."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


STATE_TOPICS = {
    CoordinatorType.GROUP: CONSUMER_OFFSETS,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE,
    CoordinatorType.SHARE: SHARE_GROUP_STATE,
}
"""The internal topic that keeps each kind."""


def coordinator_of(type: CoordinatorType, key: str, topic: TopicImage) -> BrokerId:
    """Who leads the partition of `topic`, the type's own, that keeps what `key` names; `NO_LEADER`
    when nobody does. `KafkaError(INVALID_REQUEST)` for a key that is none."""
    index = partition_for(_hashed(type, key), len(topic.partitions))
    return topic.partitions[index].leader


def is_key(type: CoordinatorType, key: str) -> bool:
    """Whether `coordinator_of` takes it."""
    try:
        _hashed(type, key)
    except KafkaError:
        return False
    return True


def _hashed(type: CoordinatorType, key: str) -> str:
    """The group of a share key may have colons itself, and has more than blanks in it."""
    if type is not CoordinatorType.SHARE:
        return key
    group, *rest = key.rsplit(":", 2)
    if len(rest) == 2 and group.strip(_BLANKS) and _is_int32(rest[1]):
        try:
            return f"{group}:{format_uuid(parse_uuid(rest[0]))}:{int(rest[1])}"
        except ValueError:
            pass
    raise KafkaError(ErrorCode.INVALID_REQUEST)


def _is_int32(text: str) -> bool:
    return (
        re.fullmatch(r"[+-]?[0-9]{1,20}", text) is not None and _LEAST_INT32 <= int(text) < 1 << 31
    )


def partition_for(key: str, count: int) -> int:
    """The partition, of `count`, whose leader coordinates it."""
    hashed = java_hash(key)
    return 0 if hashed == _LEAST_INT32 else abs(hashed) % count


def java_hash(text: str) -> int:
    """Java's: over UTF-16 code units, in 32 bits with a sign."""
    return _remembered(text) if len(text) <= MOST_CHARACTERS else _hash_of(text)


def _hash_of(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed


_remembered = lru_cache(MOST_HASHES)(_hash_of)

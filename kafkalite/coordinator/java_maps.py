"""The order in which Java's hash tables give what is in them.

Kafka's assignors go through members and topics in that order, so it decides who gets the partition
that is left over. It is the same in every run, so it is ours too.

    java.util.HashMap     a power of two of buckets, at least 16, at most three quarters full
    TimelineHashMap       slots by Fibonacci hashing (Kafka's `BaseHashTable`)

Within a bucket, what came first stays first: the tables grow without a change of that. Not
modelled: buckets of eight and more, which Java makes trees of; tables that have shrunk; the order
in which numbers of one bucket came to be there, which are taken as ascending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafkalite.types import Uuid

T = TypeVar("T")

_LEAST_BUCKETS = 16
_GOLDEN = 0x9E3779B97F4A7C15
_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF


def hash_map_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """As a `HashMap` has them into which they were put one after the other."""
    listed = list(items)
    return _ordered(listed, hash_of, _buckets(lambda buckets: len(listed) <= buckets * 3 // 4))


def hash_set_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """As a `HashSet` has them that was made of a list of them: it takes more room than one that
    grew."""
    listed = list(items)
    return _ordered(listed, hash_of, _buckets(lambda buckets: len(listed) < buckets * 3 // 4))


def _buckets(is_enough: Callable[[int], bool]) -> int:
    buckets = _LEAST_BUCKETS
    while not is_enough(buckets):
        buckets *= 2
    return buckets


def _ordered(items: list[T], hash_of: Callable[[T], int], buckets: int) -> list[T]:
    def bucket(item: T) -> int:
        hashed = hash_of(item) & _MASK_32
        return (hashed ^ hashed >> 16) & buckets - 1

    return sorted(items, key=bucket)


def timeline_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """As a `TimelineHashMap` has them, which goes through each slot backwards."""
    listed = list(items)[::-1]
    slots, bits = 2, 1
    while len(listed) * 3 > slots * 4:
        slots *= 2
        bits += 1
    return sorted(listed, key=lambda item: (hash_of(item) * _GOLDEN & _MASK_64) >> 64 - bits)


def uuid_hash(uuid: Uuid) -> int:
    """Java's hash of Kafka's `Uuid`, in 32 bits."""
    folded = int.from_bytes(uuid[:8]) ^ int.from_bytes(uuid[8:])
    return folded >> 32 ^ folded & _MASK_32


def int_hash(number: int) -> int:
    """Java's hash of an `Integer`."""
    return number

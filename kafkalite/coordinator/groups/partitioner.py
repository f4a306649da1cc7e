"""Which partition of `__consumer_offsets` keeps a group.

Source: Kafka's `GroupCoordinatorService.partitionFor`; Java's `String.hashCode`.
"""

from __future__ import annotations

_LEAST_INT32 = -(1 << 31)


def partition_for(group_id: str, count: int) -> int:
    """The partition, of `count`, whose leader coordinates the group."""
    hashed = java_hash(group_id)
    return 0 if hashed == _LEAST_INT32 else abs(hashed) % count


def java_hash(text: str) -> int:
    """Java's: over UTF-16 code units, in 32 bits with a sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed

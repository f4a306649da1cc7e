"""Records go where Java's producer would send them."""

from __future__ import annotations

import pytest

from kafkalite.cli.partitioning import Partitioning
from kafkalite.cli.record_json import NewRecord

JAVA = [
    ("", 2, 681),
    ("61", 5, 524),
    ("6162", 0, 434),
    ("616263", 4, 107),
    ("61626364", 5, 100),
    ("3231", 3, 340),
    ("666f6f626172", 0, 166),
    ("612d6c6974746c652d6269742d6c6f6e672d737472696e67", 1, 112),
    ("612d6c6974746c652d6269742d6c6f6e6765722d737472696e67", 0, 819),
    ("7363686cc3bc7373656c", 5, 656),
    ("ff", 5, 963),
    ("80ff000102fe7f", 6, 839),
]
"""Key in hex, and what `BuiltInPartitioner.partitionForKey` of kafka-clients 4.4.0 said of it for 7
and for 1,000 partitions."""


def record(key: bytes | None = None, partition: int | None = None) -> NewRecord:
    return NewRecord(key, b"value", partition=partition)


@pytest.mark.parametrize(("key", "of_7", "of_1000"), JAVA)
def test_a_key_chooses_as_in_java(key: str, of_7: int, of_1000: int) -> None:
    keyed = record(bytes.fromhex(key))
    assert Partitioning(range(7)).choose(keyed) == of_7
    assert Partitioning({*range(1000)}).choose(keyed) == of_1000


def test_without_a_key_each_partition_has_its_turn() -> None:
    partitioning = Partitioning({2, 0, 1})
    assert [partitioning.choose(record()) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_a_named_partition_is_stronger_than_the_key() -> None:
    partitioning = Partitioning(range(3))
    assert partitioning.choose(record(b"a", partition=2)) == 2
    with pytest.raises(ValueError, match="no partition 3; the last is 2"):
        partitioning.choose(record(partition=3))

"""Orders of Java's hash tables."""

from __future__ import annotations

from kafkalite.coordinator.java_maps import (
    hash_map_order,
    hash_set_order,
    int_hash,
    timeline_order,
    uuid_hash,
)
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.types import Uuid

HASH_MAP = [f"member-{number}" for number in (5, 6, 3, 13, 4, 12, 9, 11, 10, 7, 8, 1, 2, 0)]
TIMELINE = [f"member-{number}" for number in (13, 3, 10, 8, 0, 5, 12, 2, 7, 4, 11, 9, 1, 6)]
UUID_HASH = 14


def test_numbers_are_in_order_up_to_the_number_of_buckets() -> None:
    assert hash_map_order([17, 3, 16, 0], int_hash) == [16, 0, 17, 3]
    assert hash_map_order(range(20, -1, -1), int_hash) == list(range(21))


def test_a_set_that_was_copied_has_more_room_than_one_that_grew() -> None:
    numbers = [*range(11), 16]
    assert hash_map_order(numbers, int_hash) == [0, 16, *range(1, 11)]
    assert hash_set_order(numbers, int_hash) == numbers


def test_upper_bits_of_a_hash_count() -> None:
    assert hash_map_order(["a", "b"], lambda text: 0x10000 if text == "a" else 0) == ["b", "a"]


def test_texts_as_java_21_printed_them() -> None:
    names = [f"member-{number}" for number in range(14)]
    assert hash_map_order(names, java_hash) == HASH_MAP


def test_a_timeline_map_as_kafkas_class_printed_it() -> None:
    names = [f"member-{number}" for number in range(14)]
    assert timeline_order(names, java_hash) == TIMELINE
    assert timeline_order([], java_hash) == []


def test_the_hash_of_a_uuid_as_kafkas_class_gives_it() -> None:
    assert (
        uuid_hash(Uuid(bytes.fromhex("f0e1d2c3b4a5968778695a4b3c2d1e01"))) == UUID_HASH & 0xFFFFFFFF
    )

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.partitioner import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("range", 108280125),
        ("\U0001f600", 1772899),
        ("grüße", 98768023),
    ],
)
def test_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_the_least_integer_has_no_absolute_value() -> None:
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("polygenelubricants", 7) == 0


def test_partition_is_the_remainder() -> None:
    assert partition_for("hello", 50) == 22
    assert partition_for("\U0001f600", 50) == 49
    assert partition_for("anything", 1) == 0


def test_half_of_an_emoji_is_hashed_as_java_does() -> None:
    assert java_hash("\ud83d") == 0xD83D

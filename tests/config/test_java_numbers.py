"""Whole numbers as the real Kafka read them in names of brokers, and as no Java does."""

from __future__ import annotations

import pytest

from kafkalite.config.java_numbers import java_integer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("001", 1),
        ("0" * 5_000 + "1", 1),
        ("-17", -17),
        ("2147483647", 2**31 - 1),
        ("-2147483648", -(2**31)),
        ("\u0661", 1),
    ],
)
def test_what_is_one(text: str, value: int) -> None:
    assert java_integer(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "-", "+-1", "--1", "1.0", " 1", "1_0", "x", "2147483648", "-2147483649", "1" * 5_000],
)
def test_what_is_none(text: str) -> None:
    assert java_integer(text) is None


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_sign_takes_one_of_the_bits(bits: int) -> None:
    limit = 1 << (bits - 1)
    for value in (-limit, limit - 1):
        assert java_integer(str(value), bits) == value
    for value in (-limit - 1, limit):
        assert java_integer(str(value), bits) is None

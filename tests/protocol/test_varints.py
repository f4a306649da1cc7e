from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.varints import (
    VARINT_BYTES,
    VARLONG_BYTES,
    encode_varint,
    read_varint,
)

NUMBERS = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7e"),
    (-64, "7f"),
    (64, "8001"),
    (-65, "8101"),
    (8191, "fe7f"),
    (-8192, "ff7f"),
    (8192, "808001"),
    (2**31 - 1, "feffffff0f"),
    (-(2**31), "ffffffff0f"),
]
LONG_NUMBERS = [
    (2**31, "8080808010"),
    (2**63 - 1, "feffffffffffffffff01"),
    (-(2**63), "ffffffffffffffffff01"),
]


@pytest.mark.parametrize(("number", "raw"), NUMBERS + LONG_NUMBERS)
def test_number_is_its_bytes(number: int, raw: str) -> None:
    assert encode_varint(number).hex() == raw
    data = memoryview(b"x" + bytes.fromhex(raw) + b"\xff")
    assert read_varint(data, 1, VARLONG_BYTES) == (number, len(data) - 1)


@pytest.mark.parametrize(("number", "raw"), NUMBERS)
def test_narrow_number_is_read_with_the_narrow_width(number: int, raw: str) -> None:
    data = memoryview(bytes.fromhex(raw))
    assert read_varint(data, 0) == (number, len(data))


@pytest.mark.parametrize(
    ("raw", "width", "number"),
    [
        ("feffffff7f", VARINT_BYTES, 2**31 - 1),
        ("feffffffffffffffff7f", VARLONG_BYTES, 2**63 - 1),
        ("8000", VARINT_BYTES, 0),
        ("8080808000", VARINT_BYTES, 0),
    ],
)
def test_needless_bits_are_dropped(raw: str, width: int, number: int) -> None:
    data = memoryview(bytes.fromhex(raw))
    assert read_varint(data, 0, width) == (number, len(data))


@pytest.mark.parametrize("width", [VARINT_BYTES, VARLONG_BYTES])
def test_number_that_goes_on_past_its_width_is_refused(width: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"more than {width} bytes"):
        read_varint(memoryview(b"\x80" * width + b"\x00"), 0, width)


@pytest.mark.parametrize("size", range(5))
def test_number_that_the_data_cuts_short_is_an_index_error(size: int) -> None:
    with pytest.raises(IndexError):
        read_varint(memoryview(b"\x80" * size), 0)

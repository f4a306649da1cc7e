"""Zigzag varints, the numbers inside records: small ones of either sign take few bytes.

A number n is sent as 2n, or -2n - 1 when it is negative: 7 bits a byte, lowest first, the top bit
set in all bytes but the last. Kafka has two widths: varint (32 bits, at most 5 bytes) and varlong
(64 bits, at most 10). Messages have varints too, but unsigned: those are `primitives`'.
"""

from __future__ import annotations

from typing import Final

from kafkalite.errors import CorruptRecordError

VARINT_BYTES: Final = 5
VARLONG_BYTES: Final = 10

_ONE_BYTE = tuple(bytes((byte,)) for byte in range(0x80))


def read_varint(
    data: bytes | memoryview, at: int, max_bytes: int = VARINT_BYTES
) -> tuple[int, int]:
    """The number at `at`, and the position after it. `IndexError` where the data ends.

    As in Java, bits past the width are dropped, and `CorruptRecordError` comes of a byte past
    `max_bytes`.
    """
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    raw = byte & 0x7F
    byte = data[at + 1]
    if byte < 0x80:
        raw |= byte << 7
        return (raw >> 1) ^ -(raw & 1), at + 2
    raw |= (byte & 0x7F) << 7
    shift = 14
    for position in range(at + 2, at + max_bytes):
        byte = data[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF if max_bytes == VARINT_BYTES else 0xFFFFFFFFFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), position + 1
        shift += 7
    raise CorruptRecordError(f"a varint of more than {max_bytes} bytes")


def encode_varint(value: int) -> bytes:
    """The bytes of `value`, which fits in 64 bits: both widths write a number alike."""
    raw = (value << 1) ^ (value >> 63)
    if raw < 0x80:
        return _ONE_BYTE[raw]
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)

"""Messages to bytes and back: `encode`, `encode_parts`, `decode`, for every class in every version.

Symmetric: requests and responses go both ways, as brokers, clients and tests need them. Codecs are
compiled from the declarations on first use (`decoding`, `encoding`; 1 to 2 ms each) and kept.

What a decoder may allocate is bound by the bytes it is given: every length and count is checked
against what is left, and all arrays of a message together weigh at most `WEIGHT_LIMIT`, since an
element of two bytes may become an object of a hundred. Text that is no UTF-8 is read as Java reads
it: with U+FFFD.

Kafka differs: it bounds what a message may become in memory by the size of the frame alone.

Kafka differs: it ignores the size of a tagged field that it knows, where a size that the value
contradicts is a `ProtocolError` here; and an encoded surrogate is one U+FFFD to it, not three.
"""

from __future__ import annotations

import struct
from typing import Any, Final, TypeVar

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol.decoding import Decoder, compile_decoder, holds_records
from kafkalite.protocol.encoding import Encoder, compile_encoder
from kafkalite.protocol.fields import Sized
from kafkalite.protocol.schema import Message, schema_of

M = TypeVar("M", bound=Message)
Buffer = bytes | bytearray | memoryview

WEIGHT_LIMIT: Final = 1 << 20
"""Of all arrays of a message: a number weighs 1, any other element and a tagged field
`OBJECT_WEIGHT`. No client asks for a quarter of a million topics at once, and the metadata of
100,000 partitions on three brokers is just taken. The dearest message of that weight takes 65 MB of
memory besides its frame; without a limit a frame of 100 MB took six gigabytes."""

_decoders: dict[tuple[type[Message], int], tuple[Decoder, bool]] = {}
_encoders: dict[tuple[type[Message], int], Encoder] = {}


def decode(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> M:
    """The message that fills `buffer` from `position` on. `ProtocolError` for anything else, such
    as bytes left over."""
    message, end = decode_prefix(cls, version, buffer, position)
    if end != len(buffer):
        raise ProtocolError(f"{len(buffer) - end} bytes after {cls.__name__} v{version}")
    return message


def decode_prefix(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """The message at `position`, and the position after it: Kafka ignores what follows a request.

    Strings and bytes are copies. Records are views of `buffer`, and die with it.
    """
    found = _decoders.get((cls, version))
    decoder, viewing = found if found is not None else _compiled_decoder(cls, version)
    try:
        if viewing:
            view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
            message, end = decoder(view, position, len(view), WEIGHT_LIMIT)
        elif type(buffer) is bytes:
            message, end = decoder(buffer, position, len(buffer), WEIGHT_LIMIT)
        else:
            copy = bytes(buffer)
            message, end = decoder(copy, position, len(copy), WEIGHT_LIMIT)
    except (struct.error, IndexError) as error:
        raise ProtocolError(f"the bytes end before {cls.__name__} v{version} does") from error
    return message, end


def encode(message: Message, version: int) -> bytes:
    """The bytes of `message` in `version`.

    `KafkaError` UNSUPPORTED_VERSION when there is no such version, or a field that it lacks has a
    value and is not ignorable. `ValueError` for values that the field can't hold, among them
    records that are not in memory (`encode_parts` takes those).
    """
    pieces: list[Any] = []  # Any: bytes-like.
    _encode(message, version, pieces, [])
    try:
        return b"".join(pieces)
    except TypeError as error:
        raise _unfit(message, version, error) from error


def encode_parts(message: Message, version: int) -> list[Buffer | Sized]:
    """As `encode`, in parts: record bytes are parts of their own, handed on as they are."""
    pieces: list[Any] = []  # Any: bytes-like, or what the caller put into a records field.
    marks: list[int] = []
    _encode(message, version, pieces, marks)
    parts: list[Buffer | Sized] = []
    begin = 0
    for mark in marks:
        parts.append(b"".join(pieces[begin:mark]))
        parts.append(pieces[mark])
        begin = mark + 1
    if begin < len(pieces):
        parts.append(b"".join(pieces[begin:]))
    return parts


# Any: as in the two above.
def _encode(message: Message, version: int, pieces: list[Any], marks: list[int]) -> None:
    cls = type(message)
    encoder = _encoders.get((cls, version)) or _compiled_encoder(cls, version)
    try:
        encoder(message, pieces, marks)
    except (struct.error, TypeError, AttributeError, UnicodeEncodeError) as error:
        raise _unfit(message, version, error) from error


def _unfit(message: Message, version: int, error: Exception) -> ValueError:
    return ValueError(f"{type(message).__name__} v{version} can't hold its values: {error}")


def _compiled_decoder(cls: type[Message], version: int) -> tuple[Decoder, bool]:
    schema = schema_of(cls)
    if version not in schema.versions:
        raise ProtocolError(f"{schema.name} has no version {version}")
    decoder = compile_decoder(cls, version, flexible=version in schema.flexible)
    found = _decoders[cls, version] = (decoder, holds_records(cls, version))
    return found


def _compiled_encoder(cls: type[Message], version: int) -> Encoder:
    schema = schema_of(cls)
    if version not in schema.versions:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{schema.name} has no version {version}")
    encoder = compile_encoder(cls, version, flexible=version in schema.flexible)
    _encoders[cls, version] = encoder
    return encoder

"""The lines of a declaration: one function for each kind of field.

Each function from `boolean` to `struct` declares a field. To a type checker it returns a value of
the field, so that the class reads as a class of values; at run time it returns a `Field`, which the
metaclass in `schema` takes out of the class body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, Unpack

from kafkalite.protocol.schema import Field, Kind, Options, Struct
from kafkalite.types import ZERO_UUID, Uuid

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class Sized(Protocol):
    """Record bytes that lie elsewhere, such as in a file: `encode_parts` splices them in unread."""

    def __len__(self) -> int:
        """Bytes."""
        ...


Records = bytes | bytearray | memoryview | Sized
"""What a records field holds. A decoder gives a
view of the frame (it dies with the frame's buffer)."""


BOOLEAN: Final = Kind("boolean", "?", 1, zero=False)
INT8: Final = Kind("int8", "b", 1, 0)
INT16: Final = Kind("int16", "h", 2, 0)
INT32: Final = Kind("int32", "i", 4, 0)
INT64: Final = Kind("int64", "q", 8, 0)
UINT16: Final = Kind("uint16", "H", 2, 0)
UINT32: Final = Kind("uint32", "I", 4, 0)
FLOAT64: Final = Kind("float64", "d", 8, 0.0)
UUID: Final = Kind("uuid", "16s", 16, ZERO_UUID)
STRING: Final = Kind("string", zero="")
BINARY: Final = Kind("binary", zero=b"")
RECORDS: Final = Kind("records", zero=None)


def _field(
    kind: Kind, versions: str, default: object, options: Options
) -> Any:  # Any: to a type checker the field is its value; the metaclass takes the Field away.
    return Field(kind, versions, default, options)


def boolean(versions: str, *, default: bool = False, **options: Unpack[Options]) -> bool:
    """One byte; decoders take anything but 0 for True, as Kafka does."""
    value: bool = _field(BOOLEAN, versions, default, options)
    return value


def int8(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """A signed byte."""
    value: int = _field(INT8, versions, default, options)
    return value


def int16(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """Big-endian, as all numbers."""
    value: int = _field(INT16, versions, default, options)
    return value


def int32(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """Four bytes, signed."""
    value: int = _field(INT32, versions, default, options)
    return value


def int64(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """Eight bytes, signed."""
    value: int = _field(INT64, versions, default, options)
    return value


def uint16(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """Two bytes: ports."""
    value: int = _field(UINT16, versions, default, options)
    return value


def uint32(versions: str, *, default: int = 0, **options: Unpack[Options]) -> int:
    """Four bytes: CRCs."""
    value: int = _field(UINT32, versions, default, options)
    return value


def float64(versions: str, *, default: float = 0.0, **options: Unpack[Options]) -> float:
    """IEEE 754, eight bytes: quotas."""
    value: float = _field(FLOAT64, versions, default, options)
    return value


def uuid(versions: str, *, default: Uuid = ZERO_UUID, **options: Unpack[Options]) -> Uuid:
    """16 raw bytes; zero stands for none."""
    value: Uuid = _field(UUID, versions, default, options)
    return value


def string(versions: str, *, default: str | None = "", **options: Unpack[Options]) -> str:
    """UTF-8, at most 32767 bytes of it."""
    value: str = _field(STRING, versions, default, options)
    return value


def binary(versions: str, *, default: bytes | None = b"", **options: Unpack[Options]) -> bytes:
    """Kafka's `bytes`: any, as many as the frame has. Decoders copy them out of the frame."""
    value: bytes = _field(BINARY, versions, default, options)
    return value


def record_batches(
    versions: str, *, default: Records | None = None, **options: Unpack[Options]
) -> Records:
    """Kafka's `records`: record batches, undecoded and uncopied (see `Records`)."""
    value: Records = _field(RECORDS, versions, default, options)
    return value


_EMPTY: Final[tuple[()]] = ()


def array(
    of: Callable[..., T],
    versions: str,
    *,
    default: tuple[()] | None = _EMPTY,
    **options: Unpack[Options],
) -> list[T]:
    """A list of structs (`of` is their class), or of a simple kind (`of` is its function here)."""
    element = _SIMPLE.get(of)
    if element is None:
        assert isinstance(of, type), of
        assert hasattr(of, "__schema__"), of
        element = Kind("struct", struct=of)
    value: list[T] = _field(Kind("array", element=element), versions, default, options)
    return value


def struct(
    of: type[S], versions: str, *, default: tuple[()] | None = _EMPTY, **options: Unpack[Options]
) -> S:
    """One struct in another. Its default is a struct of defaults, or null."""
    value: S = _field(Kind("struct", struct=of), versions, default, options)
    return value


_SIMPLE: Final[dict[object, Kind]] = {
    boolean: BOOLEAN,
    int8: INT8,
    int16: INT16,
    int32: INT32,
    int64: INT64,
    uint16: UINT16,
    uint32: UINT32,
    float64: FLOAT64,
    uuid: UUID,
    string: STRING,
    binary: BINARY,
}

"""Every message class and version, and seeded values for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from random import Random  # noqa: TID251  # seeded: the same values in each run.

from kafkalite.errors import ErrorCode
from kafkalite.protocol import messages
from kafkalite.protocol.decoding import is_flexible
from kafkalite.protocol.schema import (
    Field,
    Kind,
    Message,
    RawTaggedField,
    Struct,
    default_of,
    schema_of,
)

TEXTS = ("", "a", "topic", "zwölf Boxkämpfer", "日本", "😀", "x" * 126, "y" * 127, "z" * 300)
BLOBS = (b"", b"\x00", b"\xff\xfe", b"k" * 127, b"v" * 20_000)
INT_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@cache
def message_classes() -> list[type[Message]]:
    """All that `messages/` declares."""
    found: list[type[Message]] = []
    for info in iter_modules(messages.__path__):
        module = import_module(f"{messages.__name__}.{info.name}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, Message)
            and value.__module__ == module.__name__
        ]
    return found


def all_versions() -> Iterator[tuple[type[Message], int]]:
    for cls in message_classes():
        first, last = schema_of(cls).versions
        for version in range(first, last + 1):
            yield cls, version


class Maker:
    """Messages with values that the version can carry: the round trip is then an equality.

    `unknown_tags` adds tagged fields from a future version. `tame` keeps to what every other
    implementation can hold: real error codes, times since 1970.
    """

    def __init__(self, seed: object, *, unknown_tags: bool = True, tame: bool = False) -> None:
        self.random = Random(str(seed))
        self.unknown_tags = unknown_tags
        self.tame = tame

    def message(self, cls: type[Message], version: int) -> Message:
        made = self.struct(cls, version, flexible=version in schema_of(cls).flexible)
        assert isinstance(made, Message)
        return made

    def struct(self, cls: type[Struct], version: int, *, flexible: bool) -> Struct:
        made = cls()
        for field in schema_of(cls).fields:
            setattr(made, field.name, self.field(field, version, flexible=flexible))
        if flexible and self.unknown_tags and self.random.random() < 0.2:
            made.unknown_tagged_fields = (
                RawTaggedField(1000, b"later"),
                RawTaggedField(70_000, b""),
            )
        return made

    def field(self, field: Field, version: int, *, flexible: bool) -> object:
        if version not in field.versions:
            return default_of(field)
        if version in field.tagged and self.random.random() < 0.4:
            return default_of(field)
        if version in field.nullable and self.random.random() < 0.2:
            return None
        flexible = is_flexible(field, version, flexible=flexible)
        return self.value(field.kind, field.name, version, flexible=flexible)

    def value(self, kind: Kind, name: str, version: int, *, flexible: bool) -> object:
        random = self.random
        if kind.struct is not None:
            return self.struct(kind.struct, version, flexible=flexible)
        if kind.element is not None:
            count = (
                random.choice((0, 1, 2, 3))
                if kind.element.struct
                else random.choice((0, 1, 3, 17, 130))
            )
            return [
                self.value(kind.element, name, version, flexible=flexible) for _ in range(count)
            ]
        if kind.name in INT_BITS:
            return self.integer(INT_BITS[kind.name], name)
        match kind.name:
            case "boolean":
                return random.random() < 0.5
            case "uint16" | "uint32":
                return random.choice((0, 1, 0xFFFF))
            case "float64":
                return random.choice((0.0, -1.5, 1e300))
            case "uuid":
                return random.randbytes(16)
            case "string":
                return random.choice(TEXTS)
            case _:
                return random.choice(BLOBS)

    def integer(self, bits: int, name: str) -> int:
        random = self.random
        if self.tame and name.endswith("error_code"):
            return random.choice(list(ErrorCode)[:120]).value
        low = 0 if self.tame else -(1 << (bits - 1))
        high = min((1 << (bits - 1)) - 1, 10**12 if self.tame else 1 << 63)
        return random.choice((low, 0, 1, high, random.randint(low, high)))

"""Writes and compiles the encoder of one class in one version: straight-line Python.

The generated function calls `w` (a list's `append`) with pieces of bytes. Consecutive fixed-size
fields, the length or count that follows them, and the zero that says "no tagged fields" leave in
one `pack`. Structs are inlined where they stand. Record bytes are appended as they are, and their
places noted in `marks`, so that `encode_parts` can hand them on without a copy.

A value that the version can't carry is refused, unless its field is ignorable
(`MessageDataGenerator.java`). Values of a wrong type raise what Python raises; `codec` explains
them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from kafkalite.protocol import primitives
from kafkalite.protocol.decoding import is_flexible
from kafkalite.protocol.schema import Field, Kind, Struct, schema_of

Encoder = Callable[[Any, list[Any], list[int]], None]
"""(message, pieces, places of record bytes
among the pieces). Any: the class compiled for; bytes-like."""


def compile_encoder(cls: type[Struct], version: int, *, flexible: bool) -> Encoder:
    """The encoder of `cls` in `version`."""
    writer = _Writer(version, flexible=flexible)
    writer.struct("m", cls)
    writer.flush()
    source = "\n".join(["def encode(m, out, marks):", " w = out.append", *writer.lines])
    exec(source, writer.scope)  # noqa: S102  # built from the declarations alone.
    encoder: Encoder = writer.scope["encode"]
    return encoder


class _Writer:
    """Source under construction."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {  # Any: the scope of generated code.
            "encode_varint": primitives.encode_varint,
            "encode_length": primitives.encode_length,
            "write_tagged": primitives.write_tagged,
            "refuse_fields": primitives.refuse_fields,
            "VARINTS": primitives.VARINTS,
            "pack": struct.pack,
            "need_uuid": _need_uuid,
        }
        self.depth = 1
        self.count = 0
        self.write = "w"
        self.run: list[tuple[str, str]] = []
        """Fixed-size values not yet written: `struct` format, and the value's expression."""

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def packed(self, *more: tuple[str, str]) -> str:
        """The write of the pending run and `more` of it, which stays pending."""
        run = [*self.run, *more]
        format = "".join(code for code, _ in run)
        values = ", ".join(value for code, value in run if code != "x")
        if not values:
            self.scope.setdefault(f"z_{len(run)}", bytes(len(run)))
            return f"{self.write}(z_{len(run)})"
        key = "p_" + format.replace("?", "o")
        self.scope.setdefault(key, struct.Struct(">" + format).pack)
        return f"{self.write}({key}({values}))"

    def flush(self) -> None:
        if self.run:
            self.line(self.packed())
            self.run.clear()

    def struct(self, source: str, cls: type[Struct]) -> None:
        """Write the fields of the struct that `source` names."""
        tagged, absent = [], []
        for field in schema_of(cls).fields:
            if self.version not in field.versions:
                if not field.ignorable:
                    absent.append(field)
            elif self.version in field.tagged:
                tagged.append(field)
            else:
                self.field(f"{source}.{field.name}", field)
        if absent:
            unlike = " or ".join(f"not ({self.is_default(source, field)})" for field in absent)
            names = tuple(field.name for field in absent)
            self.line(f"if {unlike}: refuse_fields({source}, {self.version}, {names!r})")
        if self.flexible:
            self.tagged_section(source, tagged)
        else:
            self.line(f"if {source}.unknown_tagged_fields:")
            self.line(f" refuse_fields({source}, {self.version}, ('unknown_tagged_fields',))")

    def is_default(self, source: str, field: Field) -> str:
        """A condition: the field has its default."""
        value = f"{source}.{field.name}"
        if field.kind.name == "records" or field.default is None:
            return f"{value} is None"
        if field.kind.element is not None:
            return f"{value} is not None and not {value}"
        if field.kind.struct is not None:
            inner = [self.is_default(value, inner) for inner in schema_of(field.kind.struct).fields]
            return " and ".join(
                [f"{value} is not None", *inner, f"not {value}.unknown_tagged_fields"]
            )
        return f"{value} == {field.default!r}"

    def field(self, source: str, field: Field) -> None:
        """Write one untagged field, or the value of a tagged one."""
        flexible = is_flexible(field, self.version, flexible=self.flexible)
        nullable = self.version in field.nullable
        if field.kind.struct is not None and nullable:
            tagged = self.version in field.tagged
            self.nullable_struct(source, field.kind.struct, tagged=tagged)
        else:
            self.value(source, field.kind, flexible=flexible, nullable=nullable)

    def value(self, source: str, kind: Kind, *, flexible: bool, nullable: bool) -> None:
        if kind.name == "uuid":
            self.run.append((kind.format, f"need_uuid({source})"))
        elif kind.format:
            self.run.append((kind.format, source))
        elif kind.struct is not None:
            inner = self.name("m")
            self.line(f"{inner} = {source}")
            self.struct(inner, kind.struct)
        else:
            self.sized(source, kind, flexible=flexible, nullable=nullable)

    def nullable_struct(self, source: str, cls: type[Struct], *, tagged: bool) -> None:
        """A byte says whether it is there: 1, or else -1, or 0 where it is tagged."""
        inner = self.name("m")
        self.line(f"{inner} = {source}")
        self.line(f"if {inner} is None:")
        self.line(f" {self.packed(('b', '0' if tagged else '-1'))}")
        self.line("else:")
        self.run.append(("b", "1"))
        self.depth += 1
        self.struct(inner, cls)
        self.flush()
        self.depth -= 1

    def sized(self, source: str, kind: Kind, *, flexible: bool, nullable: bool) -> None:
        """What starts with a length: string, bytes, records, array."""
        value = self.name("v")
        self.line(f"{value} = {source}")
        if nullable:
            null = ("x", "0") if flexible else ("h" if kind.name == "string" else "i", "-1")
            self.line(f"if {value} is None:")
            self.line(f" {self.packed(null)}")
            self.line("else:")
            self.depth += 1
        if kind.name == "string":
            self.line(f"{value} = {value}.encode()")
        self.length(value, kind, flexible=flexible)
        self.run.clear()
        if kind.element is not None:
            self.elements(value, kind.element, flexible=flexible)
        elif kind.name == "records":
            self.line(f"if len({value}): marks.append(len(out)); w({value})")
        else:
            self.line(f"{self.write}({value})")
        if nullable:
            self.depth -= 1

    def length(self, value: str, kind: Kind, *, flexible: bool) -> None:
        """The pending run and the length of `value`, which the caller then clears."""
        if not flexible:
            code = "h" if kind.name == "string" else "i"
            self.line(self.packed((code, f"len({value})")))
            return
        length = self.name("n")
        long = "encode_length" if kind.name == "string" else "encode_varint"
        self.line(f"{length} = len({value}) + 1")
        if not self.run:
            rest = f"{long}({length}{' - 1' if kind.name == 'string' else ''})"
            self.line(f"{self.write}(VARINTS[{length}] if {length} < 128 else {rest})")
            return
        self.line(f"if {length} < 128: {self.packed(('B', length))}")
        self.line("else:")
        self.line(f" {self.packed()}")
        self.line(f" {self.write}({long}({length}{' - 1' if kind.name == 'string' else ''}))")

    def elements(self, value: str, element: Kind, *, flexible: bool) -> None:
        if element.format and element.name != "uuid":
            short = f"s_{element.name}"
            self.scope[short] = primitives.packers(element.format)
            count = self.name("n")
            self.line(f"{count} = len({value})")
            self.line(f"if {count} < {len(self.scope[short])}:")
            self.line(f" {self.write}({short}[{count}](*{value}))")
            self.line("else:")
            self.line(f" {self.write}(pack(f'>{{{count}}}{element.format}', *{value}))")
            return
        item = self.name("m")
        self.line(f"for {item} in {value}:")
        self.depth += 1
        if element.struct is not None:
            self.struct(item, element.struct)
        else:
            self.value(item, element, flexible=flexible, nullable=False)
        self.flush()
        self.depth -= 1

    def tagged_section(self, source: str, tagged: list[Field]) -> None:
        """One zero byte when all tagged fields have their defaults, which is the usual case."""
        plain = [f"not {source}.unknown_tagged_fields"]
        plain += [f"({self.is_default(source, field)})" for field in tagged]
        self.line(f"if {' and '.join(plain)}: {self.packed(('x', '0'))}")
        self.line("else:")
        self.depth += 1
        self.flush()
        known = self.name("k")
        self.line(f"{known} = []")
        outer = self.write
        for field in sorted(tagged, key=lambda field: field.tag or 0):
            self.line(f"if not ({self.is_default(source, field)}):")
            self.depth += 1
            pieces = self.name("o")
            self.write = f"{pieces}.append"
            self.line(f"{pieces} = []")
            self.field(f"{source}.{field.name}", field)
            self.flush()
            self.line(f"{known}.append(({field.tag}, b''.join({pieces})))")
            self.depth -= 1
        self.write = outer
        self.line(f"write_tagged({outer}, {known}, {source}.unknown_tagged_fields)")
        self.depth -= 1


def _need_uuid(value: bytes) -> bytes:
    """`struct` would pad or cut; a UUID of another length is a mistake."""
    if len(value) != 16:
        raise ValueError(f"{value!r} is not a UUID's 16 bytes")
    return value

"""Writes and compiles the decoder of one class in one version: straight-line Python.

The generated function reads `buf` from `pos` to its end and returns the message and the position
after it. Consecutive fixed-size fields, and the length or count that follows them, come out of one
`unpack_from`. Structs are inlined where they stand. Of HeartbeatRequest v4 it writes

    m = new(C_1)
    n2 = buf[pos]; pos += 1
    if n2 > 127: n2, pos = varint_tail(buf, pos, n2)
    if n2:
        n2 -= 1
        stop = pos + n2
        if stop > end: raise bad_length('HeartbeatRequest.group_id', n2, end - pos)
        m.group_id = buf[pos:stop].decode("utf-8", "replace"); pos = stop
    else: raise bad_null('HeartbeatRequest.group_id')
    m.generation_id, n3 = u_iB(buf, pos); pos += 5
    ...

Reading past the end raises `struct.error` or `IndexError`, which `codec` turns into
`ProtocolError`; slices would not, so each length is checked first. Schemas do not recurse, so
neither do decoders.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from kafkalite.protocol import primitives
from kafkalite.protocol.schema import Field, Kind, RawTaggedField, Struct, schema_of

OBJECT_WEIGHT = 4
"""Of an element that is no number, as to `limit`."""
TAGS_LIMIT = 1_000
"""Tagged fields of one struct, known or not: Kafka's largest has ten or so. It sets no limit."""

Decoder = Callable[[Any, int, int, int], tuple[Any, int]]
"""(buffer, position, its end, what all arrays may weigh) -> (message, position after it).
Any: bytes, or a view where `holds_records`; the class compiled for."""


def compile_decoder(cls: type[Struct], version: int, *, flexible: bool) -> Decoder:
    """The decoder of `cls` in `version`."""
    writer = _Writer(version, flexible=flexible, viewing=holds_records(cls, version))
    writer.struct("m", cls)
    writer.flush()
    source = "\n".join(["def decode(buf, pos, end, limit):", *writer.lines, " return m, pos"])
    exec(source, writer.scope)  # noqa: S102  # built from the declarations alone.
    decoder: Decoder = writer.scope["decode"]
    return decoder


def holds_records(cls: type[Struct], version: int) -> bool:
    """Whether a records field is in it; such a frame is read through a view, not copied."""
    return any(
        version in field.versions
        and (field.kind.name == "records" or (inner is not None and holds_records(inner, version)))
        for field in schema_of(cls).fields
        for inner in [struct_in(field.kind)]
    )


def struct_in(kind: Kind) -> type[Struct] | None:
    """The struct that a field holds, one or many of."""
    return kind.element.struct if kind.element is not None else kind.struct


def is_flexible(field: Field, version: int, *, flexible: bool) -> bool:
    """Whether the field's length is a varint."""
    return flexible if field.flexible is None else version in field.flexible


def least_size(kind: Kind, version: int, *, flexible: bool) -> int:
    """The fewest bytes that a value of this kind takes."""
    if kind.size:
        return kind.size
    if kind.struct is None:
        return 1 if flexible else 2 if kind.name == "string" else 4
    size = 1 if flexible else 0
    for field in schema_of(kind.struct).fields:
        if version in field.versions and version not in field.tagged:
            if field.kind.struct is not None and version in field.nullable:
                size += 1
            else:
                size += least_size(
                    field.kind, version, flexible=is_flexible(field, version, flexible=flexible)
                )
    return size


class _Writer:
    """Source under construction."""

    def __init__(self, version: int, *, flexible: bool, viewing: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {  # Any: the scope of generated code.
            "Raw": RawTaggedField,
            "varint_tail": primitives.varint_tail,
            "decode_varint": primitives.decode_varint,
            "bad_length": primitives.bad_length,
            "too_many": primitives.too_many,
            "bad_null": primitives.bad_null,
            "bad_tag": primitives.bad_tag,
            "unpack_from": struct.unpack_from,
            "new": object.__new__,
        }
        self.text = (
            'str(buf[pos:stop], "utf-8", "replace")'
            if viewing
            else 'buf[pos:stop].decode("utf-8", "replace")'
        )
        self.copy = "bytes(buf[pos:stop])" if viewing else "buf[pos:stop]"
        self.depth = 1
        self.count = 0
        self.run: list[tuple[str, str]] = []
        """Fixed-size reads not yet written: `struct` format, and what is assigned."""

    def line(self, text: str) -> None:
        self.lines.append(" " * self.depth + text)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bind(self, prefix: str, value: object) -> str:
        """A global name for `value`, the same one for an equal format or class."""
        for name, bound in self.scope.items():
            if bound is value and name.startswith(prefix):
                return name
        name = self.name(prefix)
        self.scope[name] = value
        return name

    def flush(self) -> None:
        """Write the pending run as one `unpack_from`."""
        if not self.run:
            return
        format = "".join(code for code, _ in self.run)
        targets = ", ".join(target for _, target in self.run)
        self.run.clear()
        if format == "B":
            self.line(f"{targets} = buf[pos]; pos += 1")
            return
        comma = "" if "," in targets else ","
        key = "u_" + format.replace("?", "o")
        packer = struct.Struct(">" + format)
        self.scope.setdefault(key, packer.unpack_from)
        self.line(f"{targets}{comma} = {key}(buf, pos); pos += {packer.size}")

    def struct(self, target: str, cls: type[Struct]) -> None:
        """Make `target` a new `cls` and read its fields."""
        self.line(f"{target} = new({self.bind('C_', cls)})")
        tagged = []
        for field in schema_of(cls).fields:
            name = f"{target}.{field.name}"
            if self.version not in field.versions:
                self.line(f"{name} = {self.default(field)}")
            elif self.version in field.tagged:
                self.line(f"{name} = {self.default(field)}")
                tagged.append(field)
            else:
                self.field(name, field, f"{cls.__name__}.{field.name}")
        self.line(f"{target}.unknown_tagged_fields = ()")
        if self.flexible:
            self.tagged_section(target, cls, tagged)

    def default(self, field: Field) -> str:
        """An expression for the field's default."""
        if field.makes_default:
            return "[]" if field.kind.struct is None else f"{self.bind('C_', field.kind.struct)}()"
        return repr(field.default)

    def field(self, target: str, field: Field, label: str) -> None:
        """Read one untagged field, or the value of a tagged one."""
        flexible = is_flexible(field, self.version, flexible=self.flexible)
        nullable = self.version in field.nullable
        if field.kind.struct is not None and nullable:
            tagged = self.version in field.tagged
            self.nullable_struct(target, field.kind.struct, tagged=tagged)
        else:
            self.value(target, field.kind, label, flexible=flexible, nullable=nullable)

    def value(self, target: str, kind: Kind, label: str, *, flexible: bool, nullable: bool) -> None:
        if kind.format:
            self.run.append((kind.format, target))
        elif kind.struct is not None:
            inner = self.name("m")
            self.struct(inner, kind.struct)
            self.line(f"{target} = {inner}")
        else:
            self.sized(target, kind, label, flexible=flexible, nullable=nullable)

    def nullable_struct(self, target: str, cls: type[Struct], *, tagged: bool) -> None:
        """A byte says whether it is there: 1, or else -1, or 0 where it is tagged."""
        inner, flag = self.name("m"), self.name("n")
        self.run.append(("b", flag))
        self.flush()
        self.line(f"if {flag} {'<=' if tagged else '<'} 0: {target} = None")
        self.line("else:")
        self.depth += 1
        self.struct(inner, cls)
        self.line(f"{target} = {inner}")
        self.flush()
        self.depth -= 1

    def sized(self, target: str, kind: Kind, label: str, *, flexible: bool, nullable: bool) -> None:
        """What starts with a length: string, bytes, records, array."""
        length = self.name("n")
        if flexible:
            self.run.append(("B", length))
            self.flush()
            self.line(f"if {length} > 127:")
            self.line(f" {length}, pos = varint_tail(buf, pos, {length})")
            if kind.name == "string":
                self.line(f" if {length} > {primitives.MAX_STRING + 1}:")
                self.line(f"  raise bad_length({label!r}, {length} - 1, end - pos)")
            self.line(f"if {length}:")
            self.line(f" {length} -= 1")
        else:
            self.run.append(("h" if kind.name == "string" else "i", length))
            self.flush()
            self.line(f"if {length} >= 0:")
        self.depth += 1
        if kind.element is not None:
            self.array(target, kind.element, length, label, flexible=flexible)
        else:
            self.line(f"stop = pos + {length}")
            self.line(f"if stop > end: raise bad_length({label!r}, {length}, end - pos)")
            read = {"string": self.text, "binary": self.copy, "records": "buf[pos:stop]"}
            self.line(f"{target} = {read[kind.name]}; pos = stop")
        self.depth -= 1
        self.line("else:")
        self.line(f" {target} = None" if nullable else f" raise bad_null({label!r})")

    def array(self, target: str, element: Kind, length: str, label: str, *, flexible: bool) -> None:
        """The elements, once their count is known."""
        least = least_size(element, self.version, flexible=flexible)
        self.line(f"if {length} * {least} > end - pos:")
        self.line(f" raise bad_length({label!r}, {length}, end - pos)")
        self.weigh(label, length, 1 if element.format else OBJECT_WEIGHT)
        if element.name == "uuid":
            places = f"range(pos, pos + {length} * 16, 16)"
            self.line(f"{target} = [bytes(buf[at : at + 16]) for at in {places}]")
            self.line(f"pos += {length} * 16")
        elif element.format:
            short = f"s_{element.name}"
            self.scope[short] = primitives.unpackers(element.format)
            self.line(f"if {length} < {len(self.scope[short])}:")
            self.line(f" {target} = list({short}[{length}](buf, pos))")
            self.line("else:")
            self.line(f" {target} = list(unpack_from(f'>{{{length}}}{element.format}', buf, pos))")
            self.line(f"pos += {length} * {element.size}")
        else:
            items, item = self.name("a"), self.name("m")
            self.line(f"{target} = {items} = []")
            self.line(f"for _ in range({length}):")
            self.depth += 1
            self.value_in_array(item, element, label, flexible=flexible)
            self.flush()
            self.line(f"{items}.append({item})")
            self.depth -= 1

    def weigh(self, label: str, count: str, weight: int) -> None:
        """Take elements off what all arrays may weigh."""
        self.line(f"limit -= {count}" if weight == 1 else f"limit -= {count} * {weight}")
        self.line(f"if limit < 0: raise too_many({label!r}, {count})")

    def value_in_array(self, item: str, element: Kind, label: str, *, flexible: bool) -> None:
        if element.struct is not None:
            self.struct(item, element.struct)
        else:
            self.value(item, element, label, flexible=flexible, nullable=False)

    def tagged_section(self, target: str, cls: type[Struct], tagged: list[Field]) -> None:
        """Count, then each tag; most structs have none, which costs one comparison."""
        count = self.name("t")
        self.run.append(("B", count))
        self.flush()
        self.line(f"if {count}:")
        self.depth += 1
        tag, size, begin, raw = (self.name(prefix) for prefix in ("tag", "size", "begin", "raw"))
        self.line(f"if {count} > 127: {count}, pos = varint_tail(buf, pos, {count})")
        label = f"{cls.__name__}'s tagged fields"
        self.line(f"if {count} * 2 > end - pos or {count} > {TAGS_LIMIT}:")
        self.line(f" raise bad_length({label!r}, {count}, end - pos)")
        self.weigh(label, count, OBJECT_WEIGHT)
        self.line(f"{raw} = []")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, pos = decode_varint(buf, pos)")
        self.line(f"{size}, pos = decode_varint(buf, pos)")
        self.line(f"if {size} > end - pos: raise bad_length({label!r}, {size}, end - pos)")
        self.line(f"{begin} = pos")
        for field in tagged:
            self.line(f"if {tag} == {field.tag}:")
            self.depth += 1
            name = f"{cls.__name__}.{field.name}"
            self.field(f"{target}.{field.name}", field, name)
            self.flush()
            self.line(f"if pos != {begin} + {size}: raise bad_tag({name!r}, {size}, pos - {begin})")
            self.line("continue")
            self.depth -= 1
        self.line(f"pos += {size}")
        self.line(f"{raw}.append(Raw({tag}, bytes(buf[{begin}:pos])))")
        self.depth -= 1
        self.line(f"{target}.unknown_tagged_fields = tuple({raw})")
        self.depth -= 1

"""What a declaration in `messages/` means: structs, their fields, and the fields' versions.

A message is one class for all its versions. Each line of its body declares one field in wire order:

    class MetadataRequest(Request, api_key=3, versions="0-13", flexible="9+"):
        topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, "0+", nullable="1+")
        allow_auto_topic_creation: bool = boolean("4+", default=True)

reads: `topics` is in every version and may be null from version 1; `allow_auto_topic_creation` came
with version 4, and a decoder of version 3 sets it to its default, `True`. From version 9 on the
message is flexible (KIP-482): lengths are unsigned varints, and every struct ends with its tagged
fields.

A range of versions is written as Kafka writes it: "0+", "3-11", "7", "none"; both ends are
inclusive. The bytes are `codec`'s business; nothing here knows them. Rules: Kafka's message
generator (`clients/src/main/resources/common/message/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, Unpack, dataclass_transform

from kafkalite.protocol.versions import Versions


class RawTaggedField(NamedTuple):
    """A tagged field that this schema does not know, kept so that it survives a round trip."""

    tag: int
    data: bytes


class Kind(NamedTuple):
    """A type of the protocol. Fixed-size ones have a `struct` format."""

    name: str
    format: str = ""
    size: int = 0
    """Bytes on the wire, for fixed-size kinds."""
    zero: object = None
    """The default of a field that declares none. Arrays and structs make theirs anew each time."""
    element: Kind | None = None
    """What an array holds."""
    struct: type[Struct] | None = None


class Field:
    """One field of a struct. Ranges stay text until asked for: most are never compiled."""

    __slots__ = (
        "_flexible",
        "_nullable",
        "_tagged",
        "_versions",
        "default",
        "entity",
        "ignorable",
        "kind",
        "map_key",
        "name",
        "tag",
    )

    def __init__(self, kind: Kind, versions: str, default: object, options: Options) -> None:
        self.name = ""
        self.kind = kind
        self.default = default
        """The default, unless `makes_default`, where it only tells null (None) from empty."""
        self.tag = options.get("tag")
        self.ignorable = options.get("ignorable", False)
        self.entity = options.get("entity", "")
        self.map_key = options.get("map_key", False)
        self._versions = versions
        self._nullable = options.get("nullable", "none")
        self._tagged = options.get("tagged", versions if self.tag is not None else "none")
        self._flexible = options.get("flexible", "")

    @property
    def versions(self) -> Versions:
        """Where the field exists. Elsewhere it has its default, and no other value can be sent
        unless it is `ignorable`."""
        return Versions.parse(self._versions)

    @property
    def nullable(self) -> Versions:
        """Where its value may be None."""
        return Versions.parse(self._nullable)

    @property
    def tagged(self) -> Versions:
        """Where it stands in the tagged section, and only if it differs from its default."""
        return Versions.parse(self._tagged)

    @property
    def flexible(self) -> Versions | None:
        """Where its length is a varint, if that is not where the message is flexible."""
        return Versions.parse(self._flexible) if self._flexible else None

    @property
    def makes_default(self) -> bool:
        """Whether each message needs a default of its own: an empty list, or a struct."""
        return self.default is not None and self.kind.name in ("array", "struct")

    def __repr__(self) -> str:
        return f"<Field {self.name}: {self.kind.name} {self._versions}>"


class Options(TypedDict, total=False):
    """What any field may say besides its kind, versions and default."""

    nullable: str
    tag: int
    tagged: str
    """Only where it is not `versions`."""
    ignorable: bool
    flexible: str
    entity: str
    """What the value names: topicName, groupId, brokerId, producerId, transactionalId."""
    map_key: bool
    """Kafka keeps the array's elements in a map under this field."""


class Schema:
    """What is known of a class beyond its fields' names."""

    __slots__ = ("_flexible", "_versions", "api_key", "fields", "listeners", "name", "unstable")

    def __init__(self, name: str, fields: tuple[Field, ...], facts: Facts) -> None:
        self.name = name
        self.fields = fields
        """In wire order; the tagged ones anywhere."""
        self.api_key = facts.get("api_key", -1)
        """The API's key, or the record's type; -1 where Kafka gives none."""
        self.listeners = tuple(facts.get("listeners", "").split())
        """The kinds of listener where Kafka takes this request: broker, controller."""
        self.unstable = facts.get("unstable", False)
        """Whether Kafka hides the latest version unless told otherwise."""
        self._versions = facts.get("versions", "none")
        self._flexible = facts.get("flexible", "none")

    @property
    def versions(self) -> Versions:
        """Those of a message; empty for a struct, which goes by the message around it."""
        return Versions.parse(self._versions)

    @property
    def flexible(self) -> Versions:
        """The versions with varint lengths and tagged fields."""
        return Versions.parse(self._flexible)


class Facts(TypedDict, total=False):
    """What a class statement may say after the base class."""

    api_key: int
    versions: str
    flexible: str
    listeners: str
    unstable: bool


def _first_init(self: Struct, **values: object) -> None:
    """Stands in for a class's constructor until its first use, which compiles it."""
    init = _compile_init(type(self))
    type.__setattr__(type(self), "__init__", init)
    init(self, **values)


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """Turns a class body's fields into slots; makes a keyword-only constructor on first use.

    Not `dataclass`: that costs 0.3 ms and more a class, and there are hundreds of them.
    """

    __schema__: Schema

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **facts: Unpack[Facts]
    ) -> StructMeta:  # Any: a class body holds anything.
        """The class statement's keywords are the message's facts."""
        fields = tuple(value for value in namespace.values() if isinstance(value, Field))
        names = tuple(key for key, value in namespace.items() if isinstance(value, Field))
        for field, field_name in zip(fields, names, strict=True):
            field.name = field_name
            del namespace[field_name]
        if not bases:  # Struct itself: the one field that is no declaration.
            names = ("unknown_tagged_fields",)
            del namespace["unknown_tagged_fields"]
        namespace["__slots__"] = names
        namespace["__init__"] = _first_init
        namespace["__schema__"] = Schema(name, fields, facts)
        return super().__new__(mcs, name, bases, namespace)

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **facts: Unpack[Facts]
    ) -> None:  # Any: as in __new__. `type` takes no keywords of its own.
        super().__init__(name, bases, namespace)


class Struct(metaclass=StructMeta):
    """A part of a message. Every field has a default; construction is by keyword; not hashable."""

    unknown_tagged_fields: tuple[RawTaggedField, ...] = ()
    """Tagged fields that this schema does not know; encoded again in order of their tags."""
    __hash__ = None  # type: ignore[assignment]  # equality is by value, and values change.

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            getattr(self, field.name) == getattr(other, field.name)
            for field in type(self).__schema__.fields
        ) and (self.unknown_tagged_fields == other.unknown_tagged_fields)

    def __repr__(self) -> str:
        schema = type(self).__schema__
        values = [f"{field.name}={getattr(self, field.name)!r}" for field in schema.fields]
        if self.unknown_tagged_fields:
            values.append(f"unknown_tagged_fields={self.unknown_tagged_fields!r}")
        return f"{schema.name}({', '.join(values)})"


class Message(Struct):
    """A struct with versions of its own: what a frame or a record holds."""


class Request(Message):
    """From a client or broker. `listeners` says where Kafka takes it."""


class Response(Message):
    """The answer to the request with the same API key, in the same version."""


class MetadataRecord(Message):
    """A record of `__cluster_metadata`; `api_key` is its type."""


class CoordinatorKey(Message):
    """The key of a record in a coordinator's topic; `api_key` is the type that stands before it."""


class CoordinatorValue(Message):
    """The value under the key with the same `api_key`; its version stands before it."""


def schema_of(cls: type[Struct]) -> Schema:
    """The schema that the class body declared."""
    return cls.__schema__


def default_of(field: Field) -> object:
    """A default for one message: fresh where messages must not share it."""
    if not field.makes_default:
        return field.default
    return [] if field.kind.struct is None else field.kind.struct()


def _compile_init(cls: type[Struct]) -> Callable[..., None]:
    """`def __init__(self, *, a=0, b=None, ...)`, one assignment a field."""
    scope: dict[str, Any] = {"_missing": object()}  # Any: the scope of generated code.
    parameters, body = [], []
    for field in schema_of(cls).fields:
        name = field.name
        if field.makes_default:
            scope[f"_new_{name}"] = field.kind.struct or list
            parameters.append(f"{name}=_missing")
            body.append(f" self.{name} = _new_{name}() if {name} is _missing else {name}")
        else:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
            body.append(f" self.{name} = {name}")
    parameters.append("unknown_tagged_fields=()")
    body.append(" self.unknown_tagged_fields = unknown_tagged_fields")
    source = f"def __init__(self, *, {', '.join(parameters)}):\n" + "\n".join(body)
    exec(source, scope)  # noqa: S102  # built from the declarations alone.
    init: Callable[..., None] = scope["__init__"]
    return init

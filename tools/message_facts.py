"""Reads the facts of Kafka's messages out of the JSON inside its Maven jars.

Facts only: names, types, versions, tags, defaults, nullability, entity types. The prose stays
there. The jars: those of the oracle (compat_tests/oracle/install), and kafka-clients 3.9.2 for the
requests of ZooKeeper mode, which 4.x has as names without versions.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RELEASE = "4.4.0"
ZOOKEEPER_RELEASE = "3.9.2"
JARS = (
    "clients",
    "group-coordinator",
    "transaction-coordinator",
    "share-coordinator",
    "metadata",
    "storage",
)
EARLIER = {"RequestHeader"}
"""Taken from the earlier release: 4.x dropped header version 0, that of ControlledShutdown v0."""
FOLDERS = ("common/message/", "common/metadata/", "message/ProducerSnapshot")

SPECIFIERS = {
    "bool": ("boolean", "bool"),
    "int8": ("int8", "int"),
    "int16": ("int16", "int"),
    "int32": ("int32", "int"),
    "int64": ("int64", "int"),
    "uint16": ("uint16", "int"),
    "uint32": ("uint32", "int"),
    "float64": ("float64", "float"),
    "uuid": ("uuid", "Uuid"),
    "string": ("string", "str"),
    "bytes": ("binary", "bytes"),
    "records": ("record_batches", "Records"),
}
"""Kafka's name of a type -> the function of fields.py, the Python type."""


@dataclass(frozen=True)
class FieldFacts:
    """One field as the JSON has it, with defaults filled in."""

    name: str
    type: str
    versions: str
    options: tuple[tuple[str, str], ...]
    """The further arguments of its declaration, as source text."""
    nullable: bool

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type itself, or what the array holds."""
        return self.type.removeprefix("[]")


@dataclass(frozen=True)
class StructFacts:
    name: str
    fields: tuple[FieldFacts, ...]


@dataclass(frozen=True)
class MessageFacts:
    """A message and its structs, inner ones first."""

    name: str
    type: str
    api_key: int | None
    versions: str
    flexible: str
    listeners: tuple[str, ...]
    unstable: bool
    structs: tuple[StructFacts, ...]
    fields: tuple[FieldFacts, ...] = field(default=())


def snake_case(name: str) -> str:
    """`IsrNodes` -> `isr_nodes`, `ISRs` -> `isrs`, `topicID` -> `topic_id`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def read_messages(libs: Path) -> list[MessageFacts]:
    """All messages of the release, and those of ZooKeeper mode from the release before it."""
    current: dict[str, dict[str, Any]] = {}  # Any: JSON.
    for jar in JARS:
        current.update(_declarations(libs / f"kafka-{jar}-{RELEASE}.jar"))
    earlier = _declarations(_zookeeper_jar())
    chosen = (
        earlier[name] if found["validVersions"] == "none" or name in EARLIER else found
        for name, found in sorted(current.items())
    )
    return [_message(declaration) for declaration in chosen]


def digest_of(text: str) -> str:
    """The mark by which a test sees an edit by hand."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _zookeeper_jar() -> Path:
    artifact = f"org.apache.kafka:kafka-clients:{ZOOKEEPER_RELEASE}"
    name = f"kafka-clients-{ZOOKEEPER_RELEASE}.jar"
    folder = "org/apache/kafka/kafka-clients"
    path = Path.home() / ".m2/repository" / folder / ZOOKEEPER_RELEASE / name
    if not path.exists():
        command = ["mvn", "-q", "-B", "dependency:get", f"-Dartifact={artifact}"]
        subprocess.run([*command, "-Dtransitive=false"], check=True)
    return path


def _declarations(jar: Path) -> dict[str, dict[str, Any]]:  # Any: JSON.
    found = {}
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.startswith(FOLDERS) and entry.endswith(".json"):
                text = re.sub(r"^\s*//.*$", "", archive.read(entry).decode(), flags=re.MULTILINE)
                declaration = json.loads(text)
                found[declaration["name"]] = declaration
    return found


def _message(declaration: dict[str, Any]) -> MessageFacts:  # Any: JSON.
    shared = {common["name"]: common for common in declaration.get("commonStructs", ())}
    structs: dict[str, StructFacts] = {}

    def fields_of(fields: Iterable[dict[str, Any]]) -> tuple[FieldFacts, ...]:  # Any: JSON.
        found = []
        for entry in fields:
            facts = _field(entry)
            if facts.element not in SPECIFIERS and facts.element not in structs:
                inner = entry.get("fields") or shared[facts.element]["fields"]
                structs[facts.element] = StructFacts(facts.element, fields_of(inner))
            found.append(facts)
        return tuple(found)

    fields = fields_of(declaration["fields"])
    return MessageFacts(
        name=declaration["name"],
        type=declaration["type"],
        api_key=declaration.get("apiKey"),
        versions=declaration["validVersions"],
        flexible=declaration.get("flexibleVersions", "none"),
        listeners=tuple(declaration.get("listeners", ())),
        unstable=declaration.get("latestVersionUnstable", False),
        structs=tuple(structs.values()),
        fields=fields,
    )


def _field(entry: dict[str, Any]) -> FieldFacts:  # Any: JSON.
    tagged = entry.get("taggedVersions")
    versions: str = entry["versions"] if "versions" in entry else entry["taggedVersions"]
    nullable = entry.get("nullableVersions", "none")
    return FieldFacts(
        name=snake_case(entry["name"]),
        type=entry["type"],
        versions=versions,
        options=tuple(_options(entry, versions, tagged, nullable)),
        nullable=nullable != "none" or _default(entry) == "None",
    )


def _options(
    entry: dict[str, Any], versions: str, tagged: str | None, nullable: str
) -> Iterator[tuple[str, str]]:  # Any: JSON.
    if nullable != "none":
        yield "nullable", f'"{nullable}"'
    default = _default(entry)
    if default is not None:
        yield "default", default
    if tagged is not None:
        yield "tag", str(entry["tag"])
        if tagged != versions:
            yield "tagged", f'"{tagged}"'
    if entry.get("ignorable"):
        yield "ignorable", "True"
    if "flexibleVersions" in entry:
        yield "flexible", f'"{entry["flexibleVersions"]}"'
    if "entityType" in entry:
        yield "entity", f'"{entry["entityType"]}"'
    if entry.get("mapKey"):
        yield "map_key", "True"


def _default(entry: dict[str, Any]) -> str | None:  # Any: JSON.
    """The default as source text; None when it is that of the type."""
    default = entry.get("default")
    if default is None or default == "":
        return None  # JSON's null is no default to Kafka's generator; the text "null" is one.
    if default == "null":
        return "None"
    match entry["type"]:
        case "bool":
            value: object = str(default).lower() == "true"
            return None if value is False else "True"
        case "string":
            return json.dumps(default)
        case "float64":
            return repr(float(default))
        case _:
            number = int(default, 0) if isinstance(default, str) else int(default)
            return None if number == 0 else str(number)

"""Writes kafkalite/protocol/messages/ from the facts in Kafka's jars.

    tools/generate_messages.py [--check] [--libs FOLDER]

`--check` writes nothing and fails when a file is missing, old, or not from here. It needs the jars
(`compat_tests/oracle/install`), so it runs where they are; elsewhere the digest in each file's
first line tells an edit by hand (`--digests` checks those alone).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tools.message_facts import (
    RELEASE,
    SPECIFIERS,
    ZOOKEEPER_RELEASE,
    FieldFacts,
    MessageFacts,
    StructFacts,
    digest_of,
    read_messages,
    snake_case,
)

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "kafkalite/protocol/messages"
PROTOCOL = "kafkalite.protocol"
WIDTH = 100

RECORD_MODULES = {
    "metadata_records": "Records of the metadata log, `__cluster_metadata`",
    "classic_group_records": "Records of `__consumer_offsets`: offsets and classic groups",
    "consumer_group_records": "Records of `__consumer_offsets`: consumer groups (KIP-848)",
    "share_group_records": "Records of `__consumer_offsets`: share groups (KIP-932)",
    "streams_group_records": "Records of `__consumer_offsets`: streams groups (KIP-1071)",
    "transaction_records": "Records of `__transaction_state`",
    "share_state_records": "Records of `__share_group_state`",
    "control_records": "Bodies of control records and of the transaction index's entries",
    "consumer_protocol": "What classic consumers put into JoinGroup and SyncGroup",
    "producer_snapshot": "The file with a partition's producers, `OFFSET.snapshot`",
    "header": "What stands before each request and response",
    "principal": "The principal inside Envelope and delegation tokens",
}
"""Module -> its first line, for what is neither request nor response."""

BASES = {
    "request": "Request",
    "response": "Response",
    "metadata": "MetadataRecord",
    "coordinator-key": "CoordinatorKey",
    "coordinator-value": "CoordinatorValue",
    "data": "Message",
    "header": "Message",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--digests", action="store_true")
    home = os.environ.get("KAFKA_ORACLE_HOME", str(Path.home() / ".cache/kafka-oracle"))
    parser.add_argument("--libs", type=Path, default=Path(home) / f"kafka-{RELEASE}/libs")
    arguments = parser.parse_args()
    if arguments.digests:
        return report(edited_by_hand(TARGET))
    files = {name: with_header(text) for name, text in modules(read_messages(arguments.libs))}
    stale = {path.name for path in TARGET.glob("*.py")} - set(files) - {"__init__.py"}
    if arguments.check:
        changed = {name for name, text in files.items() if text != existing(name)}
        return report(sorted(stale | changed))
    for name, text in files.items():
        (TARGET / name).write_text(text, encoding="utf-8")
    for name in stale:
        (TARGET / name).unlink()
    return 0


def report(names: Iterable[str]) -> int:
    """0 when there are none."""
    found = list(names)
    for name in found:
        print(f"{name} is not what tools/generate_messages.py makes", file=sys.stderr)
    return 1 if found else 0


def existing(name: str) -> str:
    path = TARGET / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def with_header(text: str) -> str:
    return f"# Made by tools/generate_messages.py, digest {digest_of(text)}; do not edit.\n{text}"


def edited_by_hand(folder: Path) -> list[str]:
    """Generated files whose text no longer has the digest of their first line."""
    edited = []
    for path in sorted(folder.glob("*.py")):
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        if path.name != "__init__.py" and with_header(rest).partition("\n")[0] != first:
            edited.append(path.name)
    return edited


def modules(messages: list[MessageFacts]) -> Iterator[tuple[str, str]]:
    """File name -> text."""
    by_module: dict[str, list[MessageFacts]] = defaultdict(list)
    for message in messages:
        by_module[module_of(message)].append(message)
    for module, members in sorted(by_module.items()):
        members.sort(key=lambda m: (m.api_key if m.api_key is not None else -1, m.type, m.name))
        yield f"{module}.py", module_text(module, members)
    yield "index.py", index_text(by_module)


def module_of(message: MessageFacts) -> str:
    """One module an API; the records by what they belong to."""
    name = message.name
    if message.type in ("request", "response"):
        return snake_case(name.removesuffix("Request").removesuffix("Response"))
    if message.type in ("metadata", "header"):
        return "header" if message.type == "header" else "metadata_records"
    prefixes = {
        "ProducerSnapshot": "producer_snapshot",
        "ConsumerGroup": "consumer_group_records",
        "ShareGroup": "share_group_records",
        "StreamsGroup": "streams_group_records",
        "TransactionLog": "transaction_records",
        "ShareSnapshot": "share_state_records",
        "ShareUpdate": "share_state_records",
        "ConsumerProtocol": "consumer_protocol",
        "DefaultPrincipal": "principal",
    }
    for prefix, module in prefixes.items():
        if name.startswith(prefix):
            return module
    return "control_records" if message.type == "data" else "classic_group_records"


def module_text(module: str, members: list[MessageFacts]) -> str:
    names = struct_names(members)
    body: list[str] = []
    done: set[str] = set()
    for message in members:
        for struct in message.structs:
            name = names[message.name, struct.name]
            if name not in done:
                done.add(name)
                body += class_text(f"class {name}(Struct):", struct.fields, names, message.name)
        body += class_text(message_line(message), message.fields, names, message.name)
    imports = used_names("\n".join(body), members)
    head = [f'"""{first_line(module, members)}"""', "", "from __future__ import annotations", ""]
    return "\n".join([*head, *imports, *body]) + "\n"


def first_line(module: str, members: list[MessageFacts]) -> str:
    if module in RECORD_MODULES:
        return f"{RECORD_MODULES[module]}, as of Kafka {RELEASE}."
    request = next(member for member in members if member.type == "request")
    name = request.name.removesuffix("Request")
    release = ZOOKEEPER_RELEASE if "zkBroker" in request.listeners and name in ZK else RELEASE
    first, _, last = request.versions.partition("-")
    versions = f"versions {first} to {last}" if last else f"version {first}"
    return f"{name}, API key {request.api_key}: {versions}, as of Kafka {release}."


ZK = ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown")


def used_names(text: str, members: list[MessageFacts]) -> list[str]:
    """The import lines for what the body names."""
    specifiers = [function for function, _ in SPECIFIERS.values()] + ["array", "struct"]
    fields = {name for name in specifiers if f" {name}(" in text or f"({name}," in text}
    if ": Records" in text:
        fields.add("Records")
    classes = {BASES[member.type] for member in members}
    if "(Struct)" in text:
        classes.add("Struct")
    lines = import_lines("fields", fields) + import_lines("schema", classes)
    return [*lines, "from kafkalite.types import Uuid"] if "Uuid" in text else lines


def import_lines(module: str, names: set[str]) -> list[str]:
    ordered = sorted(names, key=lambda name: (name.islower(), name))
    if not ordered:
        return []
    line = f"from {PROTOCOL}.{module} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {PROTOCOL}.{module} import (", *(f"    {name}," for name in ordered), ")"]


def struct_names(members: list[MessageFacts]) -> dict[tuple[str, str], str]:
    """(message, struct) -> the class's name: Kafka's, with the message's before it where two
    structs of one module share a name but not their fields."""
    variants: dict[str, set[tuple[FieldFacts, ...]]] = defaultdict(set)
    for message in members:
        for struct in message.structs:
            variants[struct.name].add(deep_fields(struct, message))
    taken = {message.name for message in members}
    return {
        (message.name, struct.name): struct.name
        if len(variants[struct.name]) == 1 and struct.name not in taken
        else message.name + struct.name
        for message in members
        for struct in message.structs
    }


def deep_fields(struct: StructFacts, message: MessageFacts) -> tuple[FieldFacts, ...]:
    """Its fields and those of the structs in it: what must be equal for two to be one class."""
    inner = {other.name: other for other in message.structs}
    found = list(struct.fields)
    for field in struct.fields:
        if field.element in inner:
            found += deep_fields(inner[field.element], message)
    return tuple(found)


def message_line(message: MessageFacts) -> str:
    facts = [] if message.api_key is None else [f"api_key={message.api_key}"]
    facts += [f'versions="{message.versions}"']
    if message.flexible != "none":
        facts.append(f'flexible="{message.flexible}"')
    if message.listeners:
        facts.append(f'listeners="{" ".join(message.listeners)}"')
    if message.unstable:
        facts.append("unstable=True")
    return call_text(f"class {message.name}(", [BASES[message.type], *facts], "):")


def class_text(
    line: str, fields: tuple[FieldFacts, ...], names: dict[tuple[str, str], str], message: str
) -> list[str]:
    lines = [field_line(field, names, message) for field in fields]
    return ["", "", line, *(lines or ["    pass"])]


def field_line(field: FieldFacts, names: dict[tuple[str, str], str], message: str) -> str:
    if field.element in SPECIFIERS:
        element, python_type = SPECIFIERS[field.element]
    else:
        element = python_type = names[message, field.element]
    arguments = [f'"{field.versions}"', *(f"{key}={value}" for key, value in field.options)]
    function = element
    if field.is_array:
        function, python_type = "array", f"list[{python_type}]"
        arguments.insert(0, element)
    elif field.element not in SPECIFIERS:
        function = "struct"
        arguments.insert(0, element)
    optional = " | None" if field.nullable or field.type == "records" else ""
    return call_text(f"    {field.name}: {python_type}{optional} = {function}(", arguments, ")")


def call_text(start: str, arguments: list[str], end: str) -> str:
    line = f"{start}{', '.join(arguments)}{end}"
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(start) - len(start.lstrip()))
    inner = [f"{indent}    {argument}," for argument in arguments]
    return "\n".join([start, *inner, f"{indent}{end}"])


def index_text(by_module: dict[str, list[MessageFacts]]) -> str:
    """What must be known of every API before its module is imported."""
    rows = []
    for module, members in by_module.items():
        for request in members:
            if request.type != "request":
                continue
            name = request.name.removesuffix("Request")
            first, _, last = request.versions.partition("-")
            flexible = "None" if request.flexible == "none" else request.flexible.removesuffix("+")
            listeners = " ".join(request.listeners)
            row = (
                f'    ({request.api_key}, "{name}", "{module}", {first}, {last or first}, '
                f'{flexible}, {request.unstable}, "{listeners}"),'
            )
            rows.append((request.api_key or 0, row))
    head = f'''"""Every API of Kafka {RELEASE}: what must be known before its module is imported."""

from __future__ import annotations

ROWS: tuple[tuple[int, str, str, int, int, int | None, bool, str], ...] = (
    # key, name, module, first version, last version, first flexible version,
    # whether the last version is unstable, listeners.
'''
    return head + "\n".join(row for _, row in sorted(rows)) + "\n)\n"


if __name__ == "__main__":
    sys.exit(main())

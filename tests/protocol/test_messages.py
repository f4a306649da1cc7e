"""All messages in all versions: their codecs compile, and what they encode they decode."""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.errors import ErrorCode
from kafkalite.protocol import codec
from kafkalite.protocol.schema import Message, Request, Response, Struct, default_of, schema_of
from tests.protocol.message_values import Maker, all_versions, message_classes

ROOT = Path(__file__).parents[2]
VERSIONS = list(all_versions())


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: str(cls.__name__))
def test_each_version_round_trips(cls: type[Message]) -> None:
    first, last = schema_of(cls).versions
    for version in range(first, last + 1):
        for seed in range(4):
            message = Maker((cls.__name__, version, seed)).message(cls, version)
            data = codec.encode(message, version)
            decoded = codec.decode(cls, version, data)
            assert decoded == message, version
            assert codec.encode(decoded, version) == data, version
            parts = codec.encode_parts(message, version)
            assert b"".join(bytes(part) for part in parts if isinstance(part, bytes)) == data


@settings(max_examples=300, deadline=None)
@given(choice=st.sampled_from(VERSIONS), seed=st.integers(0, 1 << 32))
def test_any_message_round_trips(choice: tuple[type[Message], int], seed: int) -> None:
    cls, version = choice
    message = Maker(seed).message(cls, version)
    view = memoryview(b"12345" + codec.encode(message, version))
    assert codec.decode(cls, version, view, 5) == message


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: str(cls.__name__))
def test_defaults_encode_in_each_version(cls: type[Message]) -> None:
    first, last = schema_of(cls).versions
    for version in range(first, last + 1):
        message = cls()
        for field in schema_of(cls).fields:
            if field.kind.name == "records" and version not in field.nullable:
                setattr(message, field.name, b"")
        assert codec.decode(cls, version, codec.encode(message, version)) == message


@pytest.mark.parametrize("depth", range(1, 4))
def test_the_smallest_elements_are_not_too_small(depth: int) -> None:
    """A count is checked against the least that its elements can take; here they take that."""
    for cls, version in VERSIONS:
        message = smallest(cls, version, depth)
        assert isinstance(message, Message)
        assert codec.decode(cls, version, codec.encode(message, version)) == message


def smallest(cls: type[Struct], version: int, depth: int) -> Struct:
    """Null or empty wherever it can be, but for two elements in each array, `depth` arrays deep."""
    made = cls()
    for field in schema_of(cls).fields:
        if version not in field.versions:
            continue
        element = field.kind.element
        value: object = default_of(field)
        if element is not None and depth > 0:
            zero = smallest(element.struct, version, depth - 1) if element.struct else element.zero
            value = [zero, zero]
        elif version in field.nullable:
            value = None
        elif field.kind.name == "records":
            value = b""
        elif field.kind.struct is not None:
            value = smallest(field.kind.struct, version, depth)
        setattr(made, field.name, value)
    return made


def test_requests_and_responses_come_in_pairs() -> None:
    requests = {cls.__name__: cls for cls in message_classes() if issubclass(cls, Request)}
    responses = {cls.__name__: cls for cls in message_classes() if issubclass(cls, Response)}
    assert len(requests) == len(responses) == 95
    for name, request in requests.items():
        response = responses[name.removesuffix("Request") + "Response"]
        assert schema_of(request).api_key == schema_of(response).api_key
        assert schema_of(request).versions == schema_of(response).versions
        assert schema_of(request).flexible == schema_of(response).flexible


def test_declarations_are_sound() -> None:
    for struct in all_structs():
        names = [field.name for field in schema_of(struct).fields]
        assert len(names) == len(set(names)), struct
        tags = [field.tag for field in schema_of(struct).fields if field.tag is not None]
        assert len(tags) == len(set(tags)), struct
        for field in schema_of(struct).fields:
            assert not keyword.iskeyword(field.name), (struct, field)
            assert field.kind.name != "records" or field.tag is None, (struct, field)
            fresh = getattr(struct(), field.name)
            assert fresh == default_of(field), (struct, field)


def test_only_flexible_versions_have_tagged_fields() -> None:
    def check(struct: type[Struct], version: int, *, flexible: bool) -> None:
        for field in schema_of(struct).fields:
            assert flexible or version not in field.tagged, (struct, field, version)
            inner = field.kind.element or field.kind
            if inner.struct is not None and version in field.versions:
                check(inner.struct, version, flexible=flexible)

    for cls, version in VERSIONS:
        check(cls, version, flexible=version in schema_of(cls).flexible)


def test_annotations_say_what_may_be_null() -> None:
    for struct in all_structs():
        annotations = struct.__annotations__
        for field in schema_of(struct).fields:
            may_be_none = annotations[field.name].endswith(" | None")
            nullable = field.nullable.last >= field.nullable.first
            assert may_be_none == (
                nullable or field.default is None or field.kind.name == "records"
            ), (struct, field)


def test_declared_versions_are_those_that_kafka_advertises() -> None:
    declared = {
        schema_of(cls).api_key: schema_of(cls)
        for cls in message_classes()
        if issubclass(cls, Request)
    }
    recorded = json.loads((ROOT / "tests/data/api-versions.json").read_text())
    seen: dict[str, set[int]] = {"broker": set(), "controller": set()}
    for listener, keys in seen.items():
        for api in recorded[listener]["v4"]["apis"]:
            schema = declared[api["key"]]
            first, last = schema.versions
            if api["name"] == "Produce":
                assert api["min"] == 0  # advertised for old librdkafka; 3 is the real minimum
                first = 0
            assert (first, last - schema.unstable) == (api["min"], api["max"]), api
            assert api["name"] in ("?", schema.name.removesuffix("Request"))
            assert listener in schema.listeners, api
            keys.add(api["key"])
        assert {key for key in declared if listener in declared[key].listeners} - keys == (
            {7} if listener == "controller" else set()  # ControlledShutdown is 3.9's.
        )


def test_generated_files_are_not_edited_by_hand() -> None:
    command = [sys.executable, str(ROOT / "tools/generate_messages.py"), "--digests"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_error_code_fields_default_to_none() -> None:
    for struct in all_structs():
        if hasattr(struct, "error_code"):
            assert struct().error_code == ErrorCode.NONE  # type: ignore[attr-defined]  # some have it.


def all_structs() -> list[type[Struct]]:
    """Messages and the structs in them."""
    found: dict[type[Struct], None] = {}

    def add(struct: type[Struct]) -> None:
        found[struct] = None
        for field in schema_of(struct).fields:
            inner = field.kind.element or field.kind
            if inner.struct is not None:
                add(inner.struct)

    for cls in message_classes():
        add(cls)
    return list(found)

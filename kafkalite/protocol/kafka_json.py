"""Messages as the JSON that Kafka's own tools print.

A field has its Kafka name (`leaderEpoch`), bytes are base64, a uuid is its usual text. A version's
fields are all there, but for tagged ones that have their default. Source: what Kafka's message
generator makes of the same declarations (`JsonConverterGenerator`).
"""

from __future__ import annotations

import re
from base64 import b64encode

from kafkalite.protocol.fields import Field, Kind
from kafkalite.protocol.schema import Message, Struct, default_of, schema_of
from kafkalite.types import Uuid, format_uuid

JsonObject = dict[str, object]

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def message_to_json(message: Struct, version: int) -> JsonObject:
    """All that `version` of it has, ready for `json.dumps`; records are left out."""
    document: JsonObject = {}
    for field in schema_of(type(message)).fields:
        if version not in field.versions or field.kind.name == "records":
            continue
        value = getattr(message, field.name)
        if version in field.tagged and value == default_of(field):
            continue
        document[_json_name(field)] = _to_json(field.kind, value, version)
    return document


def record_type_name(cls: type[Message]) -> str:
    """Such as `TOPIC_RECORD`, of `TopicRecord`."""
    return _WORD.sub("_", schema_of(cls).name).upper()


def _json_name(field: Field) -> str:
    first, *others = field.name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _to_json(kind: Kind, value: object, version: int) -> object:
    if isinstance(value, list):
        assert kind.element is not None
        return [_to_json(kind.element, each, version) for each in value]
    if isinstance(value, Struct):
        return message_to_json(value, version)
    if isinstance(value, bytes):
        return format_uuid(Uuid(value)) if kind.name == "uuid" else b64encode(value).decode()
    return value

"""Records as lines of JSON: what `consume --json` prints is what `produce --format json` takes.

| field | what |
| --- | --- |
| `key`, `value` | text, or `{"base64": "..."}` for bytes that are no UTF-8, or null |
| `headers` | a list of `[name, value]`, values as above |
| `partition` | a number |
| `timestamp` | milliseconds since 1970 |
| `topic`, `offset`, `timestamp_type` | only printed; `produce` passes over them |

`produce` also takes any other JSON for a key or a value, and sends it as JSON. A header's value of
null is only printed: kafka-python, through which it sends, refuses it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import NamedTuple

_TAKEN = ("key", "value", "headers", "partition", "timestamp")
_PASSED_OVER = ("topic", "offset", "timestamp_type")
_MAX_INT32 = (1 << 31) - 1
_MAX_INT64 = (1 << 63) - 1


class NewRecord(NamedTuple):
    """A record that is to be sent."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None
    """None: left to the key, or to its turn."""
    timestamp_ms: int | None = None
    """None: now."""


def bytes_to_json(content: bytes | None) -> object:
    """As the table has it."""
    if content is None:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def parse_record(line: bytes) -> NewRecord:
    """`ValueError` in words for a person, when the line is no such record."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON ({error})") from error
    if not isinstance(document, dict):
        raise ValueError("a record is a JSON object")
    for name in document:
        if name not in _TAKEN and name not in _PASSED_OVER:
            raise ValueError(f"unknown field {name!r}; a record has {', '.join(_TAKEN)}")
    return NewRecord(
        _to_bytes(document.get("key"), "key"),
        _to_bytes(document.get("value"), "value"),
        tuple(_headers(document.get("headers"))),
        _number(document.get("partition"), "partition", _MAX_INT32),
        _number(document.get("timestamp"), "timestamp", _MAX_INT64),
    )


def _to_bytes(document: object, what: str) -> bytes | None:
    if document is None:
        return None
    try:
        if isinstance(document, dict) and document.keys() == {"base64"}:
            return base64.b64decode(document["base64"], validate=True)
        text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
        return text.encode("utf-8")
    except (binascii.Error, TypeError, UnicodeEncodeError) as error:
        raise ValueError(f"{what}: {error}") from error


def _headers(document: object) -> list[tuple[str, bytes]]:
    pairs = list(document.items()) if isinstance(document, Mapping) else document or []
    if not isinstance(pairs, list):
        raise ValueError("headers: expected a list of [name, value]")
    headers = []
    for pair in pairs:
        match pair:
            case [str(name), value] | (str(name), value):
                content = _to_bytes(value, f"header {name}")
                if content is None:
                    raise ValueError(
                        f'header {name}: null; kafka-python sends no header without a value, but ""'
                    )
                headers.append((name, content))
            case _:
                raise ValueError("headers: expected a list of [name, value]")
    return headers


def _number(document: object, what: str, most: int) -> int | None:
    if document is None:
        return None
    if type(document) is not int or not 0 <= document <= most:
        raise ValueError(f"{what}: expected a number from 0 to {most}")
    return document

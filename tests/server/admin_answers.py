"""What the real Kafka 4.4.0 answered to admin requests: `admin-answers.jsonl`.

Recorded by `compat_tests/record_admin_answers.py`, which tells what stands in a row.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header
from kafkalite.protocol.schema import Response, Struct

FILE = Path(__file__).parent / "admin-answers.jsonl"

Fields = Any
"""Any: JSON."""

_NOT_SHARED = {
    "throttle_time_ms",
    "host",
    "port",
    "cluster_id",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "documentation",
}


class Row(NamedTuple):
    """One exchange."""

    case: str
    api: str
    version: int
    request: bytes
    """A whole frame."""
    answer: Fields


def rows() -> list[Row]:
    """All of them, in order."""
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        request = bytes.fromhex(row["request_hex"])
        found.append(Row(row["case"], row["api"], row["version"], request, row["answer"]))
    return found


def response_class(api: str) -> type[Response]:
    """The message that answers it."""
    module = "".join(f"_{c.lower()}" if c.isupper() else c for c in api).lstrip("_")
    found: type[Response] = getattr(
        import_module(f"kafkalite.protocol.messages.{module}"), f"{api}Response"
    )
    return found


def decode_answer(api: str, version: int, frame: bytes) -> Response:
    """The answer in a frame without its length."""
    cls = response_class(api)
    _, position = read_response_header(cls.__schema__.api_key, version, frame)
    return decode(cls, version, frame, position)


def comparable(value: object) -> Fields:
    """A message as JSON, without what differs from broker to broker: ids are there or not, and
    lists of structs have no order, but for the layers of a setting."""
    if isinstance(value, Struct):
        names = [field.name for field in type(value).__schema__.fields]
        return {n: comparable(getattr(value, n)) for n in names if n not in _NOT_SHARED}
    if isinstance(value, bytes | bytearray | memoryview):
        return "an id" if any(bytes(value)) else "none"
    if isinstance(value, list):
        items = [comparable(item) for item in value]
        if items and isinstance(items[0], dict) and "source" not in items[0]:
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return items
    return value

"""The golden exchanges of tests/data, and the scripts that recorded them, put to another broker.

Requests are built and answers decoded with kafka-python's schemas, which know nothing of
kafkalite's codecs.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafkalite.coordinator.partitioner import partition_for

DATA = Path(__file__).parent.parent / "tests" / "data"
SCRIPT = DATA / "make" / "errors.py"

PARTITIONS = 50
"""Of `__consumer_offsets`, by default."""
LOADING = 14
"""COORDINATOR_LOAD_IN_PROGRESS."""
NOT_READY = (LOADING, 15, 16)
"""And COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""
PATIENCE_S = 60
"""How long a broker may take to be ready for one thing."""
Fields = dict[str, Any]
"""A request or response as JSON: any value that a schema can hold."""


def rows(name: str) -> list[Fields]:
    """All rows of a golden file, `.json` or `.jsonl`."""
    text = (DATA / name).read_text()
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    found: list[Fields] = json.loads(text)
    return found


def turns(awaited: str) -> Iterator[None]:
    """One a question, for a loop that asks until the broker is ready, and then breaks; at least
    one. `AssertionError`, which says what was `awaited`, after `PATIENCE_S`."""
    deadline = time.perf_counter() + PATIENCE_S
    yield
    while time.perf_counter() < deadline:
        yield
    raise AssertionError(f"{awaited}: the broker is not ready for it after {PATIENCE_S} s")


class Golden:
    """The recording script's functions, bound to a broker."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        # The script has no types, and runs when imported: all above its run is executed here.
        self.script: dict[str, Any] = {"__file__": str(SCRIPT), "__name__": "golden_script"}
        source = SCRIPT.read_text().split("\ndata = None\n")[0]
        with patch.object(sys, "argv", [SCRIPT.name, "--bootstrap", address]):
            exec(compile(source, SCRIPT, "exec"), self.script)
        names = {row["code"]: row["name"] for row in rows("error-codes.json")}
        self.script.update(host=host, port=int(port), NAMES=names)

    def ask(self, frame: bytes) -> tuple[str, bytes | None]:
        """Sends one frame on a connection of its own: `response` and it, or `closed`, or
        `silence`."""
        connection = self.script["Conn"]()
        try:
            outcome, answer = connection.ask(frame)
        finally:
            connection.s.close()
        return outcome, answer

    def call(self, api: str, version: int, fields: Fields) -> Fields:
        """One request from fields; the decoded answer, which must come."""
        frame = self.script["build"](self._message(f"{api}Request"), version, fields)
        outcome, answer = self.ask(frame)
        assert outcome == "response", (api, version, outcome)
        assert answer is not None
        return self.decode(api, version, answer)

    def decode(self, api: str, version: int, answer: bytes) -> Fields:
        message = self._message(f"{api}Response").decode(
            answer, version=version, header=True, framed=True
        )
        decoded: Fields = self.script["plainly"](message, version)
        return decoded

    def errors(self, decoded: Fields) -> list[Fields]:
        """Each error code in an answer that is not 0: where, code, name and message."""
        return list(self.script["find_errors"](decoded))

    def cases(self, state: Fields) -> Iterator[tuple[str, bytes]]:
        """The bad requests, by name, as frames. `state`: what their preparation found out."""
        self.script["state"] = state
        for name, request, _ in self.script["cases"]():
            yield name, request if isinstance(request, bytes) else self.script["build"](*request)

    def await_coordinators(self) -> None:
        """Until all groups have one. The real Kafka makes the topic of groups when it is first
        asked for a coordinator, and loads each of its partitions later than it answers."""
        ids: dict[int, str] = {}
        for number in itertools.count():
            ids.setdefault(partition_for(f"await-{number}", PARTITIONS), f"await-{number}")
            if len(ids) == PARTITIONS:
                break
        for group in ids.values():
            asked = {"key_type": 0, "coordinator_keys": [group]}
            for _ in turns(f"a coordinator of {group}"):
                if not self.errors(self.call("FindCoordinator", 4, asked)):
                    break
            beat = {
                "group_id": group,
                "generation_id": 1,
                "member_id": "m",
                "group_instance_id": None,
            }
            for _ in turns(f"the groups of the coordinator of {group}"):
                if self.call("Heartbeat", 4, beat)["error_code"] not in NOT_READY:
                    break

    def init_producer_id(self, version: int, fields: Fields) -> Fields:
        """As clients do: the real Kafka says COORDINATOR_LOAD_IN_PROGRESS until its first block of
        ids has come, which the first request makes it ask for."""
        answer: Fields = {}
        for _ in turns("producer ids"):
            answer = self.call("InitProducerId", version, fields)
            if answer["error_code"] != LOADING:
                break
        return answer

    def fresh_groups(self, *groups: str) -> None:
        """There are no such groups: members that an earlier run left in them leave."""
        for group in groups:
            asked = {"groups": [group], "include_authorized_operations": False}
            (described,) = self.call("DescribeGroups", 5, asked)["groups"]
            members = [
                {"member_id": member["member_id"], "group_instance_id": None, "reason": None}
                for member in described["members"]
            ]
            self.call("LeaveGroup", 5, {"group_id": group, "members": members})
        self.call("DeleteGroups", 2, {"groups_names": groups})

    def fresh_topics(self, topics: dict[str, Fields]) -> None:
        """Creates topics (name to the fields of its CreateTopics item), after deleting old ones of
        that name."""
        old = [{"name": name, "topic_id": None} for name in topics]
        self.call("DeleteTopics", 6, {"topics": old, "timeout_ms": 5_000})
        created = self.call(
            "CreateTopics",
            7,
            {
                "topics": [
                    {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
                    | {"name": name}
                    | fields
                    for name, fields in topics.items()
                ],
                "timeout_ms": 5_000,
                "validate_only": False,
            },
        )
        assert not self.errors(created), created
        # The real Kafka answers before its broker has learnt of the new topics, and leads them.
        ids = {made["name"]: made["topic_id"] for made in created["topics"]}
        for _ in turns(f"leaders of {', '.join(topics)}"):
            if not self.errors(self._fetch_by_id(ids, topics)):
                break

    def metadata(self, topics: list[str]) -> Fields:
        names = [{"topic_id": None, "name": name} for name in topics]
        return self.call("Metadata", 12, {"topics": names, "allow_auto_topic_creation": False})

    def _fetch_by_id(self, ids: dict[str, str], topics: dict[str, Fields]) -> Fields:
        """The start of every partition, which only answers where a topic of that id is led."""
        partition = {"fetch_offset": 0, "current_leader_epoch": -1, "partition_max_bytes": 1}
        return self.call(
            "Fetch",
            13,
            {
                "max_wait_ms": 0,
                "min_bytes": 0,
                "max_bytes": 1,
                "session_id": 0,
                "session_epoch": -1,
                "topics": [
                    {
                        "topic_id": uuid.UUID(ids[name]),
                        "partitions": [
                            {"partition": i, **partition}
                            for i in range(fields.get("num_partitions", 1))
                        ],
                    }
                    for name, fields in topics.items()
                ],
            },
        )

    def _message(self, name: str) -> Any:  # a class of kafka-python's, which has no types.
        for module in (self.script[letter] for letter in "ACMP"):
            if hasattr(module, name):
                return getattr(module, name)
        raise LookupError(name)

"""How we know that a version of an API is served as Kafka serves it: the tests that say so.

Read from what those tests are parametrized with, so that a version that no test asks for has no
evidence here. That they pass, CI sees to: it makes no difference between this page and them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from compat_tests import (
    test_acl_answers,
    test_consumer_groups,
    test_error_cases,
    test_java_requests,
    test_sasl,
    test_transaction_answers,
    test_wire_replay,
)
from compat_tests.record_client_versions import RECORD
from compat_tests.record_consumer_groups import VERSIONS as TALKED_IN
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.server.apis.api import Api
from tests.protocol.test_golden import NOT_SERVED as WITHOUT_SCHEMA
from tests.server import admin_answers
from tools.compatibility_facts import golden

_RECORDED_NAMES = {
    "apache-kafka-java": "Java",
    "?": "Java",  # Kafka's own tools where a connection's ApiVersions was not seen,
    "console-consumer": "Java",  # or was not sent yet.
    "confluent-kafka-python": "librdkafka",
    "kafka-python": "kafka-python",
    "aiokafka": "aiokafka",
    "kgo": "franz-go",
}
"""How a recording's name of a client begins, and what people call it."""
_PACKAGES = {
    "confluent-kafka": "librdkafka",
    "confluent-kafka-go": "librdkafka (Go)",
    "rdkafka": "librdkafka (Rust)",
    "kcat": "librdkafka (kcat)",
}
"""Where what people call a client is not its package's name."""

Version = tuple[int, int]
"""Key of an API, and its version."""


_ALONE: dict[Version, Callable[..., None]] = {
    (ApiKey.API_VERSIONS, 5): test_wire_replay.test_version_5_is_answered_as_version_4,
    **{
        (key, version): test_consumer_groups.test_the_answer_is_kafkas
        for key in (ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE)
        for version in TALKED_IN
    },
    **{
        (key, version): test_sasl.test_every_exchange_goes_as_with_kafka
        for key, versions in ((ApiKey.SASL_HANDSHAKE, 2), (ApiKey.SASL_AUTHENTICATE, 3))
        for version in range(versions)
    },
}
"""Answers that have a test of their own."""


_BY_VERSION: tuple[tuple[Callable[..., None], ApiKey], ...] = (
    (test_wire_replay.test_init_producer_id_without_a_transactional_id, ApiKey.INIT_PRODUCER_ID),
    (test_acl_answers.test_rules_are_not_described, ApiKey.DESCRIBE_ACLS),
    (test_acl_answers.test_rules_are_not_made, ApiKey.CREATE_ACLS),
    (test_acl_answers.test_rules_are_not_deleted, ApiKey.DELETE_ACLS),
    (test_transaction_answers.test_offsets_of_topics_by_id, ApiKey.TXN_OFFSET_COMMIT),
    (test_transaction_answers.test_markers_that_are_written_by_hand, ApiKey.WRITE_TXN_MARKERS),
)
"""Tests that both brokers pass, and whose parameter `version` is one of that API's."""


class Evidence(NamedTuple):
    """What exercises one version of one API."""

    compared: int = 0
    """Answers that are held against Kafka's, field by field or byte by byte; the same test asks
    both brokers."""
    compared_here: int = 0
    """Answers to admin requests that are held against what Kafka's were when they were recorded, in
    a broker within the test's process."""
    round_trips: int = 0
    """Recorded exchanges whose frames are decoded, and encoded to the same bytes."""
    bad_requests: tuple[str, ...] = ()
    """Names of those whose outcome, codes and messages are held against Kafka's."""
    clients: tuple[str, ...] = ()
    """Unmodified clients whose tests ask for it."""

    @property
    def suffices(self) -> bool:
        """Whether the version may be advertised: a test asks both brokers for it."""
        return self.compared > 0


def evidence() -> dict[Version, Evidence]:
    """By key and version."""
    compared = Counter(_compared())
    compared_here = Counter(
        (admin_answers.response_class(asked.api).__schema__.api_key, asked.version)
        for asked in admin_answers.rows()
    )
    round_trips = Counter(
        (row["key"], row["version"])
        for row in _exchanges()
        if (row["api"], row["version"]) not in WITHOUT_SCHEMA
    )
    bad: dict[Version, list[str]] = {}
    for row in bad_requests_held():
        bad.setdefault(version_of(row), []).append(row["case"])
    clients: dict[Version, list[str]] = {}
    for client, asks in clients_on_record().items():
        for version in asks:
            clients.setdefault(version, []).append(client)
    return {
        version: Evidence(
            compared[version],
            compared_here[version],
            round_trips[version],
            tuple(bad.get(version, ())),
            tuple(clients.get(version, ())),
        )
        for version in {*compared, *compared_here, *round_trips, *bad, *clients}
    }


def without_evidence(apis: Iterable[Api], found: Mapping[Version, Evidence]) -> list[str]:
    """Versions that are advertised and that no test holds against Kafka: `METADATA 3`."""
    return [
        f"{api.key.name} {version}"
        for api in apis
        for version in advertised(api)
        if not found.get((api.key, version), Evidence()).suffices
    ]


def advertised(api: Api) -> range:
    """Its versions in ApiVersions."""
    first = api.advertised_min_version
    return range(api.min_version if first is None else first, api.max_version + 1)


# Answers that tests compare.


def _compared() -> Iterator[Version]:
    for row in (*test_wire_replay.RECORDED, *test_java_requests.RECORDED):
        yield row["key"], row["version"]
    for test, key in _BY_VERSION:
        for version in _values(test, "version"):
            yield key, version
    yield from _ALONE


def _values(test: Callable[..., None], parameter: str) -> Iterable[int]:
    """What a test is parametrized with."""
    marks: list[Any] = vars(test)["pytestmark"]  # Any: pytest does not say of what kind.
    (values,) = (mark.args[1] for mark in marks if mark.args[:1] == (parameter,))
    found: Iterable[int] = values
    return found


def _exchanges() -> list[Any]:  # Rows of JSON.
    return [*golden("versions.jsonl"), *golden("wire.jsonl")]


# Bad requests.


class NotPut(NamedTuple):
    """Bad requests of one API that are not put to kafkalite yet, for one reason."""

    key: int
    reason: str
    cases: tuple[str, ...]


def bad_requests_held() -> list[Any]:  # Rows of errors.json.
    """Those that are put to kafkalite, and must be answered as by Kafka."""
    rows = test_error_cases.RECORDED
    return [row for row in rows if row["case"] not in test_error_cases.DIFFERS]


def bad_requests_for_later() -> list[NotPut]:
    """Those that are recorded, and not put to kafkalite; by key."""
    cases: dict[tuple[int, str], list[str]] = {}
    for row in golden("errors.json"):
        reason = test_error_cases.why_not_put(row)
        if reason is not None:
            cases.setdefault((version_of(row)[0], reason), []).append(row["case"])
    return [NotPut(*about, tuple(names)) for about, names in sorted(cases.items())]


def version_of(case: Any) -> Version:  # A row of errors.json.
    """The API that a recorded bad request is of: as its maker said, or for a frame by hand as its
    header says; -1 when the frame's length is a lie or it has no header."""
    if "key" in case:
        return case["key"], case["version"]
    frame = bytes.fromhex(case["request_hex"])
    length = int.from_bytes(frame[:4], "big", signed=True)
    if length != len(frame) - 4 or length < 8:
        return -1, -1
    return int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")


# Clients.


def clients_on_record() -> dict[str, list[Version]]:
    """What each client in compat_tests asks for while its tests run, see
    `compat_tests/record_client_versions.py`."""
    keys = {row["api"]: row["key"] for row in _exchanges()}
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    return {
        _PACKAGES.get(package, package): [
            (keys[api], version) for api, versions in client["asks"].items() for version in versions
        ]
        for package, client in recorded.items()
    }


def clients_of_kafka() -> dict[Version, list[str]]:
    """Which stock clients asked the real Kafka for it, in the recording."""
    keys = {row["api"]: row["key"] for row in _exchanges()}
    found: dict[Version, list[str]] = {}
    for recorded, steps in golden("clients.json").items():
        name = next(name for start, name in _RECORDED_NAMES.items() if recorded.startswith(start))
        for used in sorted({each for asked in steps.values() for each in asked}):
            api, version = used.rsplit(" ", 1)
            names = found.setdefault((keys.get(api, -1), int(version)), [])
            if name not in names:
                names.append(name)
    return found

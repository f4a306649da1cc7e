"""Requests about settings: what they are, and what they are to become. See
`record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import kafkalite.protocol.messages.alter_configs as alter
import kafkalite.protocol.messages.describe_configs as describe
import kafkalite.protocol.messages.incremental_alter_configs as incremental
from kafkalite.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafkalite.protocol.schema import Request

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
Edit = tuple[str, int, str | None]
Asked = tuple[Request, int]
"""A request and its version."""

BOTH = "compact,delete"


def requests() -> Iterator[Asked]:
    """All of them, in order."""
    yield from _describe_configs()
    yield from _alter_topics()
    yield from _alter_others()
    yield from _replace()
    yield from _list_resources()


def _describe_configs() -> Iterator[Asked]:
    def ask(
        *resources: tuple[int, str, list[str] | None], synonyms: bool = True, version: int = 4
    ) -> Asked:
        asked = [
            describe.DescribeConfigsResource(
                resource_type=type, resource_name=name, configuration_keys=keys
            )
            for type, name, keys in resources
        ]
        return describe.DescribeConfigsRequest(resources=asked, include_synonyms=synonyms), version

    for name in (
        "adm-b",
        "adm-both",
        "adm-none",
        "adm-absent",
        "bad/name",
        "",
        "__cluster_metadata",
    ):
        yield ask((TOPIC, name, None))
    yield ask((TOPIC, "adm-b", []))
    yield ask((TOPIC, "adm-b", ["retention.ms", "no.such", "retention.ms"]))
    yield ask((TOPIC, "adm-b", ["retention.ms", "segment.bytes"]), synonyms=False, version=1)
    yield ask((TOPIC, "adm-b", ["flush.ms"]), (TOPIC, "adm-b", ["flush.ms"]), version=2)
    keys = ["log.retention.hours", "log.retention.ms", "message.max.bytes", "no.such", "broker.id"]
    for name in ("1", "01"):
        yield ask((BROKER, name, [*keys, "ssl.key.password", "log.flush.interval.ms"]))
    for name in ("9", "abc", "-1", ""):
        yield ask((BROKER, name, None))
    yield ask((BROKER, "", ["min.insync.replicas"]))
    yield ask((BROKER, "", ["log.retention.hours"]))
    yield ask((LOGGER, "1", ["no.such"]))
    for name in ("9", ""):
        yield ask((LOGGER, name, None))
    for type in (METRICS, GROUP):
        for name in ("adm-it", ""):
            yield ask((type, name, None))
    yield ask((GROUP, "adm-it", ["consumer.session.timeout.ms"]), version=3)
    for type in (0, 1, 3, 77):
        yield ask((type, "x", None))
    yield ask()
    yield ask((TOPIC, "adm-b", ["retention.ms"]), (TOPIC, "adm-absent", None))
    yield ask((TOPIC, "adm-b", ["retention.ms"]), (77, "x", None))


def _edit(
    *resources: tuple[int, str, Sequence[Edit]], validate_only: bool = False, version: int = 1
) -> Asked:
    asked = [
        incremental.AlterConfigsResource(
            resource_type=type,
            resource_name=name,
            configs=[
                incremental.AlterableConfig(name=key, config_operation=operation, value=value)
                for key, operation, value in edits
            ],
        )
        for type, name, edits in resources
    ]
    return incremental.IncrementalAlterConfigsRequest(
        resources=asked, validate_only=validate_only
    ), version


def _now(*topics: str) -> Asked:
    """What the topics have now, where it may have changed."""
    keys = [
        "retention.ms",
        "cleanup.policy",
        "leader.replication.throttled.replicas",
        "min.compaction.lag.ms",
        "internal.segment.bytes",
        "remote.storage.enable",
        "segment.ms",
        "flush.ms",
    ]
    asked = [
        describe.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=topic, configuration_keys=keys
        )
        for topic in topics
    ]
    return describe.DescribeConfigsRequest(resources=asked), 4


AGE, POLICY = "retention.ms", "cleanup.policy"
THROTTLED = "leader.replication.throttled.replicas"
SINGLE: list[Edit] = [
    (AGE, DELETE, None),
    (AGE, DELETE, "77"),
    ("no.such", DELETE, None),
    ("no.such", SET, "1"),
    ("", SET, "1"),
    *((AGE, SET, value) for value in (None, "", "abc", " 5 ")),
    (AGE, APPEND, "1"),
    (AGE, SUBTRACT, "1"),
    (AGE, 5, "1"),
    (AGE, -1, "1"),
    (AGE, 5, None),
    (POLICY, APPEND, "compact"),
    (POLICY, APPEND, "compact"),
    (POLICY, SUBTRACT, "delete"),
    (POLICY, SUBTRACT, "delete"),
    (POLICY, SUBTRACT, "compact"),
    (POLICY, APPEND, "shred"),
    (POLICY, APPEND, BOTH),
    (POLICY, APPEND, ""),
    (POLICY, APPEND, None),
    (POLICY, SUBTRACT, None),
    (POLICY, SET, "compact, delete"),
    (POLICY, SUBTRACT, "delete"),
    (POLICY, SET, ""),
    (POLICY, APPEND, "compact"),
    (POLICY, DELETE, None),
    (THROTTLED, APPEND, "0:1"),
    (THROTTLED, APPEND, "1:1,0:1"),
    (THROTTLED, SUBTRACT, "0:1"),
    (THROTTLED, APPEND, "bad"),
    (THROTTLED, DELETE, None),
    ("no.such", APPEND, "1"),
    ("no.such", SUBTRACT, "1"),
    ("min.compaction.lag.ms", SET, "10"),
    ("max.compaction.lag.ms", SET, "5"),
    ("remote.storage.enable", SET, "true"),
    ("remote.storage.enable", SET, "false"),
    ("internal.segment.bytes", SET, "100"),
    ("segment.bytes", SET, "100"),
    ("message.format.version", SET, "2.8"),
]
"""Edits of one topic, that build on each other."""


def _alter_topics() -> Iterator[Asked]:
    x, z, absent = "adm-x", "adm-z", "adm-absent"
    age = AGE
    yield _edit((TOPIC, x, [(age, SET, "100")]))
    yield _edit((TOPIC, x, [(age, SET, "200")]), validate_only=True)
    yield _now(x)
    for edit in SINGLE:
        yield _edit((TOPIC, x, [edit]))
        yield _now(x)
    several: list[list[Edit]] = [
        [],
        [(age, SET, "1"), (age, DELETE, None)],
        [(age, SET, None), (age, SET, None)],
        [(age, SET, "1"), ("segment.bytes", SET, "5")],
        [(age, SET, "1"), ("segment.ms", SET, None), ("flush.ms", SET, None)],
        [(age, APPEND, "1"), ("no.such", SET, "1")],
    ]
    for edits in several:
        yield _edit((TOPIC, x, edits))
    for name in (absent, "", "bad/name", "__cluster_metadata"):
        yield _edit((TOPIC, name, [(age, SET, "1")]))
    yield _edit((TOPIC, absent, []))
    yield _edit((TOPIC, absent, [("no.such", SET, "1")]))
    yield _edit((TOPIC, absent, [(age, APPEND, "1")]))
    yield _edit((TOPIC, x, [(age, SET, "11")]), (TOPIC, absent, []), (TOPIC, z, [(age, SET, "12")]))
    yield _edit((TOPIC, x, [(age, SET, "13")]), (TOPIC, x, [(age, SET, "14")]))
    yield _edit((TOPIC, x, []), (TOPIC, z, [(age, SET, "19")]), (TOPIC, x, []), (77, "x", []))
    yield _edit((77, "x", []), (TOPIC, z, [(age, SET, "15")]), version=0)
    yield _edit((TOPIC, x, [(age, 5, "1")]), (TOPIC, z, [(age, SET, "16")]))
    yield _edit()
    yield _now(x, z)


def _alter_others() -> Iterator[Asked]:
    """Only what Kafka refuses, and what changes nothing."""
    size: Edit = ("message.max.bytes", SET, "x")
    folders: Edit = ("log.dirs", SET, "1")
    in_sync = "min.insync.replicas"
    none: list[Edit] = []
    for type in (0, 1, 3, 77, -1):
        yield _edit((type, "q", [("retention.ms", SET, "1")]))
    yield _edit((77, "q", [("retention.ms", SET, None)]))
    yield _edit((77, "q", [("retention.ms", SET, "1"), ("retention.ms", SET, "1")]))
    for name, edits in (
        ("9", [size]),
        ("abc", [size]),
        ("1", [folders]),
        ("", [folders]),
        ("", [("num.partitions", SET, "1"), folders]),
        ("1", [size]),
        ("1", none),
        ("1", [("num.partitions", DELETE, None)]),
        ("1", [("message.max.bytes", DELETE, None)]),
        ("1", [("message.max.bytes", SET, None)]),
        ("1", [("message.max.bytes", 5, "1")]),
        ("", [(in_sync, DELETE, None)]),
        ("1", [(in_sync, SET, "2")]),
    ):
        yield _edit((BROKER, name, edits), validate_only=True)
    level: Edit = ("kafka.none", SET, "DEBUG")
    for name, edits in (
        ("1", [level]),
        ("1", [("kafka.none", APPEND, "DEBUG")]),
        ("1", [("kafka.none", SUBTRACT, "DEBUG")]),
        ("1", [("root", DELETE, None)]),
        ("9", [level]),
        ("", [level]),
    ):
        yield _edit((LOGGER, name, edits), validate_only=True)
    yield _edit((METRICS, "adm-it", [("no.such", SET, "1")]), validate_only=True)
    yield _edit((METRICS, "", [("interval.ms", SET, "5000")]), validate_only=True)
    for edit in (("no.such", SET, "5"), ("consumer.session.timeout.ms", SET, "x")):
        yield _edit((GROUP, "adm-it", [edit]), validate_only=True)
    yield _edit((GROUP, "", [("no.such", SET, "5")]), validate_only=True)


def _replace() -> Iterator[Asked]:
    def ask(
        *resources: tuple[int, str, Sequence[tuple[str, str | None]]],
        validate_only: bool = False,
        version: int = 2,
    ) -> Asked:
        asked = [
            alter.AlterConfigsResource(
                resource_type=type,
                resource_name=name,
                configs=[alter.AlterableConfig(name=key, value=value) for key, value in configs],
            )
            for type, name, configs in resources
        ]
        return alter.AlterConfigsRequest(resources=asked, validate_only=validate_only), version

    x, z, age, flush = "adm-x", "adm-z", "retention.ms", "flush.ms"
    yield ask((TOPIC, x, [(age, "100"), ("segment.ms", "50")]), version=0)
    yield _now(x)
    yield ask((TOPIC, x, [(flush, "7")]), version=1)
    yield ask((TOPIC, x, [(flush, "8")]), validate_only=True)
    yield _now(x)
    for configs in (
        [("no.such", "8")],
        [(flush, "x")],
        [(flush, None)],
        [(flush, "1"), (flush, "2")],
        [(flush, ""), (age, "5")],
        [(flush, None), ("segment.ms", None), ("no.such", None)],
        [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
        [("cleanup.policy", "compact,compact")],
        [(age, " 9 ")],
        [],
    ):
        yield ask((TOPIC, x, configs))
        yield _now(x)
    for name in ("adm-absent", "", "bad/name"):
        yield ask((TOPIC, name, [(age, "1")]))
    for type in (0, 1, LOGGER, 77):
        yield ask((type, "1", [(age, "1")]), validate_only=True)
    for name, configs in (
        ("1", [("log.dirs", "1")]),
        ("1", [("log.dirs", None)]),
        ("9", [("log.dirs", "1")]),
        ("1", []),
        ("", [("message.max.bytes", "5000")]),
    ):
        yield ask((BROKER, name, configs), validate_only=True)
    yield ask((TOPIC, x, [(age, "11")]), (TOPIC, "adm-absent", []), (TOPIC, z, [(age, "12")]))
    yield ask((TOPIC, x, [(age, "13"), (age, "15")]), (TOPIC, z, [(age, "99")]))
    yield ask()
    yield _now(x, z)


def _list_resources() -> Iterator[Asked]:
    """Of brokers and their loggers, and of no type that there is; topics come in no order there."""
    yield ListConfigResourcesRequest(), 0
    for types in ([BROKER], [LOGGER], [BROKER, LOGGER], [LOGGER, BROKER, BROKER]):
        yield ListConfigResourcesRequest(resource_types=types), 1
    for types in ([99], [0], [-1], [1], [BROKER, 99]):
        yield ListConfigResourcesRequest(resource_types=types), 1

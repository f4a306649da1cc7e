"""Requests about settings of groups and of subscriptions to client metrics. See
`record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator

import kafkalite.protocol.messages.alter_configs as alter
import kafkalite.protocol.messages.describe_configs as describe
import kafkalite.protocol.messages.incremental_alter_configs as incremental
from compat_tests.config_requests import (
    APPEND,
    DELETE,
    GROUP,
    METRICS,
    SET,
    SUBTRACT,
    TOPIC,
    Asked,
    Edit,
)
from kafkalite.protocol.messages.list_config_resources import ListConfigResourcesRequest

HEARTBEAT, SESSION = "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"
TAGS, DEAD_LETTERS = "streams.rack.aware.assignment.tags", "errors.deadletterqueue.topic.name"
RESET, ASSIGNOR = "share.auto.offset.reset", "streams.assignor.name"

OF_GROUPS: dict[str, tuple[str, ...]] = {
    "consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    HEARTBEAT: ("x", "", "0", "4999", " 5000 ", "+5001", "15000", "15001", "3000000000"),
    SESSION: ("0", "44999", "45000", "60000", "60001"),
    "errors.deadletterqueue.copy.record.enable": ("x", "TRUE", " true "),
    DEAD_LETTERS: ("", "x/y", "__x", " __x", "a__x", "."),
    "share.assignment.interval.ms": ("-1", "15001"),
    RESET: (
        *("", "latest", " earliest ", "Latest", "none", "by_duration:", "by_duration:PT1H"),
        *("by_duration:P1D", "by_duration:PT", "by_duration:P", "by_duration:P1Y"),
        *("by_duration:-PT1H", "by_duration:PT-1H", "by_duration:pt1h", "by_duration:PT1.5S"),
        *("BY_DURATION:PT1H", "by_duration: PT1H", "by_duration:P1DT2H3M4.000000005S"),
    ),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.heartbeat.interval.ms": ("0", "4999", "15001"),
    "share.isolation.level": ("x", "READ_COMMITTED", " read_committed "),
    "share.partition.max.record.locks": ("99", "100", "4000", "4001"),
    "share.record.lock.duration.ms": ("999", "1000", "15000", "60001"),
    "share.renew.acknowledge.enable": ("1", "false"),
    "share.session.timeout.ms": ("0", "44999", "60001"),
    "streams.assignment.interval.ms": ("-1", "15001"),
    ASSIGNOR: ("", "x", " sticky ", "sticky,x"),
    "streams.heartbeat.interval.ms": ("0", "4999", "15001"),
    "streams.initial.rebalance.delay.ms": ("-1", "0", "2147483647"),
    "streams.num.standby.replicas": ("-1", "2", "3"),
    TAGS: ("", "a,b", " a , b ", "a,,b", "a,", ",", "a,a", "a, a"),
    "streams.session.timeout.ms": ("0", "44999", "60001"),
}
OF_SUBSCRIPTIONS: dict[str, tuple[str, ...]] = {
    "interval.ms": ("", "x", "-1", "99", "100", " 0200 ", "3600000", "3600001"),
    "match": (
        *("", "client_id=x", " client_id = x ", "bad", "client_id", "client_id=", "=x"),
        *("a=b=c", "client_Id=x", "client_id=[", "client_id=(a", "client_id=a{2", "client_id=*"),
        *(r"client_id=\p{Alpha}+", "client_id=a,client_id=[", "a,a", "client_id= x y"),
        "client_instance_id=.*,client_software_name=a,client_software_version=1",
        "client_source_address=1,client_source_port=2",
    ),
    "metrics": ("", "*", "a,b", "[", "a,,b"),
}


def requests() -> Iterator[Asked]:
    """All of them, in order."""
    for key, values in OF_GROUPS.items():
        yield from (
            _alter(GROUP, "adm-g", (key, SET, value), only_validate=True) for value in values
        )
    for key, values in OF_SUBSCRIPTIONS.items():
        yield from (
            _alter(METRICS, "adm-m", (key, SET, value), only_validate=True) for value in values
        )
    yield from _odd_edits()
    yield from _several_faults()
    yield from _kept()


def _odd_edits() -> Iterator[Asked]:
    for operation in (APPEND, SUBTRACT):
        for key in (TAGS, HEARTBEAT, "no.such"):
            yield _alter(GROUP, "adm-g", (key, operation, "a"))
        for key in ("match", "metrics", "interval.ms", "no.such"):
            yield _alter(METRICS, "adm-m", (key, operation, "a"))
    for type, name in ((GROUP, "adm-g"), (METRICS, "adm-m"), (GROUP, ""), (METRICS, "")):
        yield _alter(type, name)
        yield _alter(type, name, ("no.such", DELETE, None))
        yield _alter(type, name, ("no.such", SET, "1"))
        yield _alter(type, name, (HEARTBEAT, SUBTRACT, "1"))
        yield _alter(type, name, ("interval.ms", SET, None))
        yield _alter(type, name, ("interval.ms", SET, "100"), ("interval.ms", SET, "100"))
        yield _replace(type, name)
        yield _replace(type, name, ("no.such", "1"))
    resources = [
        (METRICS, "adm-m", ("interval.ms", 9, "100")),
        (GROUP, "adm-g", ("share.isolation.level", SET, "x")),
        (TOPIC, "adm-absent", ("retention.ms", SET, "1")),
    ]
    yield _alter_many(*resources)
    yield _alter_many(*resources[1:], (METRICS, "adm-m", ("match", SET, "bad")))


def _several_faults() -> Iterator[Asked]:
    for type, edits in (
        (GROUP, {"b": "1", "a": "1"}),
        (GROUP, {HEARTBEAT: "x", "a": "1"}),
        (GROUP, {HEARTBEAT: "x", SESSION: "x"}),
        (GROUP, {HEARTBEAT: "1", SESSION: "x"}),
        (GROUP, {SESSION: "1", HEARTBEAT: "1", "share.session.timeout.ms": "1"}),
        (GROUP, {ASSIGNOR: "x", "share.delivery.count.limit": "99", TAGS: "a,,b"}),
        (GROUP, {ASSIGNOR: "x", "streams.num.standby.replicas": "9"}),
        (GROUP, {ASSIGNOR: "x", DEAD_LETTERS: "__x"}),
        (GROUP, {TAGS: "a,a", HEARTBEAT: "x"}),
        (GROUP, {TAGS: "a,a", "no.such": "1"}),
        (GROUP, {DEAD_LETTERS: "__x", HEARTBEAT: "1"}),
        (METRICS, {"interval.ms": "1", "metrics": "a,,b"}),
        (METRICS, {"match": "a,,b", "metrics": "c,,d"}),
        (METRICS, {"match": "bad", "interval.ms": "1"}),
        (METRICS, {"no.such": "bad", "interval.ms": "x"}),
    ):
        yield _alter(type, "adm-g", *((key, SET, value) for key, value in edits.items()))


def _kept() -> Iterator[Asked]:
    yield _alter(
        GROUP,
        "adm-g",
        (HEARTBEAT, SET, "+06000"),
        (TAGS, SET, " a , b"),
        ("share.renew.acknowledge.enable", SET, "FALSE"),
        only_validate=False,
    )
    yield _alter(
        METRICS,
        "adm-m",
        ("interval.ms", SET, " 0200 "),
        ("match", SET, " client_id = x , client_software_name=y"),
        ("metrics", SET, " o, p"),
        only_validate=False,
    )
    yield from _described()
    yield _alter(GROUP, "adm-g", ("share.isolation.level", SET, "x"))
    yield _alter(GROUP, "adm-g", (TAGS, DELETE, None), (SESSION, SET, "50000"), only_validate=False)
    yield _replace(METRICS, "adm-m", ("metrics", "q"), only_validate=False)
    yield from _described()
    yield _replace(METRICS, "adm-m", only_validate=False)
    yield _replace(GROUP, "adm-g", only_validate=False)
    yield from _described()


def _described() -> Iterator[Asked]:
    resources = [
        describe.DescribeConfigsResource(resource_type=type, resource_name=name)
        for type, name in ((GROUP, "adm-g"), (METRICS, "adm-m"))
    ]
    yield describe.DescribeConfigsRequest(resources=resources, include_synonyms=True), 4
    yield ListConfigResourcesRequest(resource_types=[]), 0
    yield ListConfigResourcesRequest(resource_types=[GROUP]), 1


def _alter(type: int, name: str, *edits: Edit, only_validate: bool = True) -> Asked:
    configs = [
        incremental.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in edits
    ]
    resource = incremental.AlterConfigsResource(
        resource_type=type, resource_name=name, configs=configs
    )
    return incremental.IncrementalAlterConfigsRequest(
        resources=[resource], validate_only=only_validate
    ), 1


def _alter_many(*wanted: tuple[int, str, Edit]) -> Asked:
    resources = [
        incremental.AlterConfigsResource(
            resource_type=type,
            resource_name=name,
            configs=[incremental.AlterableConfig(name=key, config_operation=op, value=value)],
        )
        for type, name, (key, op, value) in wanted
    ]
    return incremental.IncrementalAlterConfigsRequest(resources=resources, validate_only=True), 1


def _replace(type: int, name: str, *pairs: tuple[str, str], only_validate: bool = True) -> Asked:
    configs = [alter.AlterableConfig(name=key, value=value) for key, value in pairs]
    resource = alter.AlterConfigsResource(resource_type=type, resource_name=name, configs=configs)
    return alter.AlterConfigsRequest(resources=[resource], validate_only=only_validate), 2

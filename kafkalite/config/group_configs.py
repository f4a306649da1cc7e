"""What the settings of a group may be (KIP-848, KIP-932, KIP-1071).

Of several faults Kafka's first is told: an unknown name, tags given twice, values that their keys
do not take in the order of its definition, values that the broker's own settings do not allow, a
session that is no longer than a heartbeat, a topic that is kept for Kafka's own use.

Source: Kafka's `GroupConfig` and `GroupConfigManager`; order and words were asked of the real
broker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from kafkalite.config.described_keys import broker_keys
from kafkalite.config.group_keys import GROUP_KEYS
from kafkalite.config.java_numbers import java_integer
from kafkalite.config.keys import Value
from kafkalite.errors import ErrorCode, KafkaError

_TAGS = "streams.rack.aware.assignment.tags"
_RESET = "share.auto.offset.reset"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_ASSIGNOR, _ASSIGNORS = "streams.assignor.name", "group.streams.assignors"
_STANDBYS, _MAX_STANDBYS = "streams.num.standby.replicas", "group.streams.max.standby.replicas"

_PARSED = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.assignment.interval.ms",
    "share.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.auto.offset.reset",
    "share.isolation.level",
    "share.renew.acknowledge.enable",
    "share.assignment.interval.ms",
    "streams.session.timeout.ms",
    "streams.heartbeat.interval.ms",
    "streams.num.standby.replicas",
    "streams.initial.rebalance.delay.ms",
    "streams.assignment.interval.ms",
    "streams.rack.aware.assignment.tags",
    "streams.assignor.name",
    "errors.deadletterqueue.copy.record.enable",
    "errors.deadletterqueue.topic.name",
)
"""All keys, in the order of Kafka's definition."""

_RANGED = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
)
"""Keys whose range the broker sets, in the order in which Kafka looks at them."""

_KINDS = ("consumer", "share", "streams")

_DURATION = re.compile(
    r"(?-i:by_duration:)(?P<sign>[+-]?)P(?=.)((?P<days>[+-]?\d+)D)?"
    r"(T(?=.)((?P<hours>[+-]?\d+)H)?((?P<minutes>[+-]?\d+)M)?"
    r"((?P<seconds>[+-]?\d+)([.,](?P<fraction>\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
"""As `java.time.Duration` reads it."""
_SECONDS_OF = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
_NANOSECONDS = 10**9
_LONG = range(-(1 << 63), 1 << 63)


def validate_group_config(values: Mapping[str, str], broker: Mapping[str, str]) -> None:
    """`values`: all that the group would have. `broker`: the settings of the broker's own file, as
    text. `KafkaError(INVALID_CONFIG)` for what it may not have."""
    unknown = [name for name in values if name not in GROUP_KEYS]
    if unknown:
        _refuse(f"Unknown group config name: {min(unknown)}")
    _check_tags(values.get(_TAGS, ""))
    parsed: dict[str, Value] = {}
    for name in _PARSED:
        if name in values:
            parsed[name] = GROUP_KEYS[name].parse(values[name])
            if name == _RESET:
                _check_reset(str(parsed[name]))
    _check_ranges(parsed, broker)
    _check_sessions(parsed, broker)
    if str(parsed.get(_DEAD_LETTERS, "")).startswith("__"):
        _refuse(f"{_DEAD_LETTERS}: DLQ topic name must not start with '__'")


def _check_tags(text: str) -> None:
    tags = [tag.strip() for tag in text.split(",")]
    if len(set(tags)) < len(tags):
        _refuse(f"{_TAGS} must not contain duplicate tag keys.")


def _check_reset(text: str) -> None:
    if text not in ("earliest", "latest") and not _is_duration(text):
        _refuse(
            f"Invalid value {text} for configuration {_RESET}: Invalid value `{text}` for"
            f" configuration {_RESET}. The value must be either 'earliest', 'latest' or of the"
            " format 'by_duration:<PnDTnHnMn.nS>'."
        )


def _is_duration(text: str) -> bool:
    """Of one that is not negative. Java counts in seconds that are a long at each step."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return False
    seconds = 0
    for unit, size in _SECONDS_OF.items():
        amount = java_integer(found[unit] or "0", bits=64)
        if amount is None:
            return False
        seconds += amount * size
        if amount * size not in _LONG or seconds not in _LONG:
            return False
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    if (found["seconds"] or "").startswith("-"):
        fraction = -fraction
    duration = seconds * _NANOSECONDS + fraction
    if found["sign"] == "-":
        duration = -duration
    return duration >= 0 and duration // _NANOSECONDS in _LONG


def _check_ranges(parsed: Mapping[str, Value], broker: Mapping[str, str]) -> None:
    """Against what the broker allows groups to have."""
    for name in _RANGED:
        value = parsed.get(name)
        if value is None:
            continue
        assert isinstance(value, int), name
        if name == _STANDBYS:
            most = _of_broker(_MAX_STANDBYS, broker)
            if value > most:
                _refuse(f"{name} must be less than or equal to {most}")
            continue
        kind, _, rest = name.partition(".")
        least = _of_broker(f"group.{kind}.min.{rest}", broker)
        most = _of_broker(f"group.{kind}.max.{rest}", broker)
        if not least <= value <= most:
            _refuse(f"{name} must be in the range {least} to {most} inclusive.")
    assignor = parsed.get(_ASSIGNOR)
    assignors = _assignors(broker)
    if assignor is not None and assignor not in assignors:
        _refuse(
            f"{_ASSIGNOR} '{assignor}' is not a registered task assignor. Registered assignors are:"
            f" [{', '.join(assignors)}]."
        )


def _check_sessions(parsed: Mapping[str, Value], broker: Mapping[str, str]) -> None:
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        session_ms, heartbeat_ms = (
            parsed.get(name, _of_broker(f"group.{name}", broker)) for name in (session, heartbeat)
        )
        assert isinstance(session_ms, int), session
        assert isinstance(heartbeat_ms, int), heartbeat
        if session_ms <= heartbeat_ms:
            _refuse(f"{session} must be greater than {heartbeat}")


def _of_broker(name: str, broker: Mapping[str, str]) -> int:
    key = broker_keys()[name]
    assert key.default is not None, name
    value = key.parse(broker.get(name, key.default))
    assert isinstance(value, int), name
    return value


def _assignors(broker: Mapping[str, str]) -> tuple[str, ...]:
    key = broker_keys()[_ASSIGNORS]
    value = key.parse(broker.get(_ASSIGNORS, key.default or ""))
    assert isinstance(value, tuple)
    return value


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)

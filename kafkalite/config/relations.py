"""Settings that contradict each other, though each is good for itself.

Kafka refuses to start with them. Most are pairs of which one must not pass the other, and of which
few act here; a file that Kafka refuses is refused all the same, before somebody takes it there.

Kafka differs: it holds `node.id` and `process.roles` against `controller.quorum.voters`, and wants
`controller.listener.names` where there are `process.roles`; here no quorum is formed.

Source: Kafka's `KafkaConfig.validateValues`, `GroupCoordinatorConfig` and `ShareGroupConfig`, as
the real one answers (`tests/config/broker-config-answers.jsonl`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from kafkalite.errors import ErrorCode, KafkaError

_PAIRS = """
replica.fetch.wait.max.ms replica.socket.timeout.ms
replica.fetch.wait.max.ms replica.lag.time.max.ms
group.consumer.min.session.timeout.ms group.consumer.max.session.timeout.ms
group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms
group.consumer.session.timeout.ms group.consumer.max.session.timeout.ms
group.consumer.min.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
group.consumer.min.heartbeat.interval.ms group.consumer.heartbeat.interval.ms
group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
group.consumer.min.assignment.interval.ms group.consumer.max.assignment.interval.ms
group.consumer.min.assignment.interval.ms group.consumer.assignment.interval.ms
group.consumer.assignment.interval.ms group.consumer.max.assignment.interval.ms
group.share.min.session.timeout.ms group.share.max.session.timeout.ms
group.share.min.session.timeout.ms group.share.session.timeout.ms
group.share.session.timeout.ms group.share.max.session.timeout.ms
group.share.min.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
group.share.min.heartbeat.interval.ms group.share.heartbeat.interval.ms
group.share.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
group.share.min.assignment.interval.ms group.share.max.assignment.interval.ms
group.share.min.assignment.interval.ms group.share.assignment.interval.ms
group.share.assignment.interval.ms group.share.max.assignment.interval.ms
group.share.min.record.lock.duration.ms group.share.record.lock.duration.ms
group.share.record.lock.duration.ms group.share.max.record.lock.duration.ms
group.share.min.partition.max.record.locks group.share.partition.max.record.locks
group.share.partition.max.record.locks group.share.max.partition.max.record.locks
group.share.max.size group.share.max.share.sessions
group.streams.min.session.timeout.ms group.streams.max.session.timeout.ms
group.streams.min.session.timeout.ms group.streams.session.timeout.ms
group.streams.session.timeout.ms group.streams.max.session.timeout.ms
group.streams.min.heartbeat.interval.ms group.streams.max.heartbeat.interval.ms
group.streams.min.heartbeat.interval.ms group.streams.heartbeat.interval.ms
group.streams.heartbeat.interval.ms group.streams.max.heartbeat.interval.ms
group.streams.min.assignment.interval.ms group.streams.max.assignment.interval.ms
group.streams.min.assignment.interval.ms group.streams.assignment.interval.ms
group.streams.assignment.interval.ms group.streams.max.assignment.interval.ms
group.streams.num.standby.replicas group.streams.max.standby.replicas
group.streams.num.warmup.replicas group.streams.max.warmup.replicas
group.streams.min.task.offset.interval.ms group.streams.task.offset.interval.ms
"""
"""The first must not be larger than the second."""
_SMALL_BY_DEFAULT = frozenset(
    {
        "group.consumer.assignment.interval.ms",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.session.timeout.ms",
    }
)
"""Where the default is smaller than Kafka's, a file that is good there may set a larger bound. The
bound then is what acts."""
_ROLL, _JITTER = "log.roll.ms", "log.roll.jitter.ms"
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
"""The first that is set holds."""
_IDLE, _DELAY = "connections.max.idle.ms", "connection.failed.authentication.delay.ms"
_QUEUED, _REQUEST = "queued.max.request.bytes", "socket.request.max.bytes"
_BUFFER, _CLEANERS = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_TAGS = "group.streams.rack.aware.assignment.tags"
_CORDONED = "cordoned.log.dirs"
_INTER_BROKER, _SECURITY = "inter.broker.listener.name", "security.inter.broker.protocol"
_EARLY = "early.start.listeners"
_BYTES_PER_CLEANER = 1024 * 1024
_SINGLE = frozenset(
    {
        *(_ROLL, _JITTER, *_RETENTION, _IDLE, _DELAY, _QUEUED, _BUFFER, _CLEANERS),
        *(_PROTOCOLS, _TAGS, _CORDONED, _INTER_BROKER, _EARLY),
    }
)


def names_with_relations() -> frozenset[str]:
    """Settings for which, when one of them is set, `check_relations` has something to look at."""
    return _SINGLE.union(_PAIRS.split())


def check_relations(settings: Mapping[str, str]) -> None:
    """`KafkaError(INVALID_CONFIG)` for the first contradiction.

    Each value that a known key has in `settings` must be one that the key takes.
    """
    values = _Values(settings)
    for line in _PAIRS.strip().splitlines():
        smaller, larger = line.split()
        _check_pair(values, smaller, larger)
    _check_times(values)
    _check_sizes(values)
    _check_names(values)


class _Values:
    """Of all keys, set or not, parsed."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        from kafkalite.config.described_keys import broker_keys, internal_keys

        self.settings = settings
        self._keys = {**broker_keys(), **internal_keys()}

    def number(self, name: str) -> int:
        value = self._keys[name].parse(self.text(name))
        assert isinstance(value, int)
        return value

    def items(self, name: str) -> tuple[str, ...]:
        value = self._keys[name].parse(self.text(name))
        assert isinstance(value, tuple)
        return value

    def text(self, name: str) -> str:
        return self.settings.get(name, self._keys[name].default or "")

    def shown(self, name: str) -> str:
        return f"{name}={self.text(name).strip()}"


def _check_pair(values: _Values, smaller: str, larger: str) -> None:
    if smaller not in values.settings and larger not in values.settings:
        return
    if larger in _SMALL_BY_DEFAULT and larger not in values.settings:
        return
    if values.number(smaller) > values.number(larger):
        _refuse(f"{values.shown(smaller)} must not be larger than {values.shown(larger)}")


def _check_times(values: _Values) -> None:
    settings = values.settings
    if _ROLL in settings and values.number(_ROLL) < 1:
        _refuse(f"{values.shown(_ROLL)} must be at least 1")
    if _JITTER in settings and values.number(_JITTER) < 0:
        _refuse(f"{values.shown(_JITTER)} must be at least 0")
    retention = next((name for name in _RETENTION if name in settings), None)
    if retention is not None and values.number(retention) == 0:
        _refuse(f"{values.shown(retention)} must be at least 1, or -1 for no limit")
    if _IDLE in settings or _DELAY in settings:
        idle_ms = values.number(_IDLE)
        if 0 <= idle_ms <= values.number(_DELAY):
            _refuse(f"{values.shown(_DELAY)} must be less than {values.shown(_IDLE)}")


def _check_sizes(values: _Values) -> None:
    settings = values.settings
    if _QUEUED in settings and 0 < values.number(_QUEUED) < values.number(_REQUEST):
        _refuse(f"{values.shown(_QUEUED)} must be at least {values.shown(_REQUEST)}, or -1")
    if _BUFFER in settings or _CLEANERS in settings:
        cleaners = values.number(_CLEANERS)
        if cleaners == 0:
            _refuse(f"{values.shown(_CLEANERS)} must be at least 1")
        if values.number(_BUFFER) // cleaners <= _BYTES_PER_CLEANER:
            _refuse(
                f"{values.shown(_BUFFER)} must be more than {_BYTES_PER_CLEANER} bytes for each of "
                f"{values.shown(_CLEANERS)}"
            )


def _check_names(values: _Values) -> None:
    settings = values.settings
    if _PROTOCOLS in settings and "classic" not in values.items(_PROTOCOLS):
        _refuse(f"{values.shown(_PROTOCOLS)} must have classic among them")
    if _TAGS in settings:
        written = [item.strip() for item in settings[_TAGS].split(",")]
        if len(set(written)) < len(written):
            _refuse(f"{values.shown(_TAGS)} must not name a tag twice")
    if _CORDONED in settings and values.items(_CORDONED) != ("*",):
        folders = values.items("log.dirs" if "log.dirs" in settings else "log.dir")
        if not set(values.items(_CORDONED)) <= set(folders):
            _refuse(f"{values.shown(_CORDONED)} must be among the log.dirs, or * alone")
    if _INTER_BROKER in settings and _SECURITY in settings:
        _refuse(f"{_INTER_BROKER} and {_SECURITY} say the same thing; use one of them")
    if _EARLY in settings:
        listeners = {item.partition("://")[0].upper() for item in values.items("listeners")}
        known = listeners | set(values.items("controller.listener.names"))
        if not set(values.items(_EARLY)) <= known:
            _refuse(f"{values.shown(_EARLY)} must be among the names of the listeners")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)

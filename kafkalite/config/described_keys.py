"""Kafka 4.4's other broker keys, which are described and do not act, and all of them together.

Names, types and defaults are facts of Kafka 4.4.0, held against `tests/data/configs.json`; what
they mean there is told in our words. Few ask for them, so the table is a text that is taken apart
at first use.
"""

from __future__ import annotations

from functools import cache

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.described_texts import DESCRIBED
from kafkalite.config.keys import ConfigKey, ConfigType, check_hosts, check_voters

NOT_ACTED_ON = "Taken, and without effect here."
_LONG_DEFAULT = "    = "


@cache
def broker_keys() -> dict[str, ConfigKey]:
    """All broker keys by name: those of `BROKER_KEYS`, and those without effect."""
    keys = {
        name: key._replace(doc=f"{key.doc} {NOT_ACTED_ON}")
        for name, key in _read(DESCRIBED).items()
    }
    for name, check, form in (
        ("controller.quorum.voters", check_voters, "ID@HOST:PORT"),
        ("controller.quorum.bootstrap.servers", check_hosts, "HOST:PORT"),
    ):
        keys[name] = keys[name]._replace(check=check, form=form)
    keys.update((name, key) for name, key in BROKER_KEYS.items() if not key.is_internal)
    dynamic = frozenset(_DYNAMIC.split())
    return {name: key._replace(is_read_only=name not in dynamic) for name, key in keys.items()}


@cache
def internal_keys() -> dict[str, ConfigKey]:
    """Broker keys that Kafka takes and tells nobody of, by name. Those of `BROKER_KEYS` act."""
    acting = {name: key for name, key in BROKER_KEYS.items() if key.is_internal}
    return acting | {name: key._replace(is_internal=True) for name, key in _read(_INTERNAL).items()}


def _read(table: str) -> dict[str, ConfigKey]:
    """A line is `NAME TYPE ALLOWED... = DEFAULT`; indented ones below it tell what it means."""
    keys: dict[str, ConfigKey] = {}
    for line in table.strip().splitlines():
        head, equals, default = line.partition(" =")
        if not line.startswith(" "):
            name, type, *allowed = head.split()
            value = default.strip() if equals else None
            keys[name] = _allowing(ConfigKey(name, ConfigType[type], value, ""), allowed)
        elif line.startswith(_LONG_DEFAULT):
            keys[name] = keys[name]._replace(default=line.removeprefix(_LONG_DEFAULT))
        else:
            keys[name] = keys[name]._replace(doc=f"{keys[name].doc} {line.strip()}".lstrip())
    return keys


def _allowing(key: ConfigKey, words: list[str]) -> ConfigKey:
    """`key` with what it takes: `1..10` (inclusive, the second may be missing), `a|b` (with `~`
    before it: in any case), `nonempty`."""
    for word in words:
        if word == "nonempty":
            key = key._replace(may_be_empty=False)
        elif ".." in word:
            first, _, last = word.partition("..")
            key = key._replace(minimum=_number(first), maximum=_number(last) if last else None)
        else:
            choices = tuple(word.removeprefix("~").split("|"))
            key = key._replace(one_of=choices, is_case_sensitive=not word.startswith("~"))
    return key


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


_DYNAMIC = """
background.threads compression.gzip.level compression.lz4.level compression.type
compression.zstd.level config.providers cordoned.log.dirs
errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix
follower.fetch.last.tiered.offset.enable group.consumer.assignment.interval.ms
group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms
group.streams.assignment.interval.ms listener.security.protocol.map listeners log.cleaner.backoff.ms
log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms log.cleaner.io.buffer.load.factor
log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms
log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.cleaner.threads
log.cleanup.policy log.flush.interval.messages log.flush.interval.ms log.index.interval.bytes
log.index.size.max.bytes log.local.retention.bytes log.local.retention.ms
log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms log.message.timestamp.type
log.preallocate log.remote.copy.lag.bytes log.remote.copy.lag.ms log.retention.bytes
log.retention.ms log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms
max.connection.creation.rate max.connections max.connections.per.ip max.connections.per.ip.overrides
max.decompressed.message.bytes message.max.bytes metric.reporters min.insync.replicas num.io.threads
num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers principal.builder.class
producer.id.expiration.ms remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
remote.log.manager.copy.max.bytes.per.second remote.log.manager.expiration.thread.pool.size
remote.log.manager.fetch.max.bytes.per.second remote.log.manager.follower.thread.pool.size
remote.log.reader.threads sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules
sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
sasl.login.refresh.window.jitter sasl.mechanism.inter.broker.protocol
share.coordinator.cached.buffer.max.bytes ssl.cipher.suites ssl.client.auth ssl.enabled.protocols
ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password
ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
ssl.truststore.password ssl.truststore.type transaction.partition.verification.enable
unclean.leader.election.enable
"""
"""What Kafka lets be altered while it runs."""

_INTERNAL = """
controller.performance.always.log.threshold.ms LONG 0.. = 2000
controller.performance.sample.period.ms LONG 100.. = 60000
group.consumer.assignor.offload.enable BOOLEAN = true
group.consumer.regex.refresh.interval.ms INT 10000.. = 600000
group.share.assignor.offload.enable BOOLEAN = true
group.share.dlq.manager.class.name STRING
    = org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager
group.share.initialize.retry.interval.ms INT 1.. = 30000
group.share.persister.class.name STRING
    = org.apache.kafka.server.share.persister.DefaultStatePersister
group.streams.acceptable.recovery.lag LONG 0.. = 10000
group.streams.assignor.offload.enable BOOLEAN = true
group.streams.max.warmup.replicas INT 0.. = 20
group.streams.min.task.offset.interval.ms INT 1.. = 15000
group.streams.num.warmup.replicas INT 0.. = 2
group.streams.task.offset.interval.ms INT 1.. = 60000
internal.metadata.delete.delay.millis LONG = 60000
internal.metadata.log.segment.bytes INT
internal.metadata.max.batch.size.in.bytes INT = 8388608
remote.log.index.file.cache.ttl.ms LONG -1.. = 900000
remote.log.manager.task.retry.backoff.max.ms LONG 1.. = 30000
remote.log.manager.task.retry.backoff.ms LONG 1.. = 500
remote.log.manager.task.retry.jitter DOUBLE 0..0.5 = 0.2
server.max.startup.time.ms LONG 0.. = 9223372036854775807
share.coordinator.cold.partition.snapshot.interval.ms INT 1.. = 300000
share.coordinator.state.topic.prune.interval.ms INT 1.. = 300000
unstable.api.versions.enable BOOLEAN = false
unstable.feature.versions.enable BOOLEAN = false
"""

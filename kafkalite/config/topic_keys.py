"""Every topic key of Kafka 4.4.

They stand in the order in which Kafka checks them, so that of two wrong values the same one is
named.
"""

from __future__ import annotations

from kafkalite.config.keys import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    MAX_LONG,
    STRING,
    ConfigKey,
    Synonym,
    check_replicas,
)

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
_CLEANUP_POLICIES = ("compact", "delete")


def _same(name: str) -> tuple[Synonym, ...]:
    return (Synonym(name),)


_TOPIC_KEYS = (
    ConfigKey(
        "segment.bytes",
        INT,
        "1073741824",
        "A segment file that would grow past this is closed and the next begun.",
        minimum=1048576,
        synonyms=_same("log.segment.bytes"),
    ),
    ConfigKey(
        "segment.ms",
        LONG,
        "604800000",
        "A segment is closed this long after its first record, full or not.",
        minimum=1,
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
    ),
    ConfigKey(
        "segment.jitter.ms",
        LONG,
        "0",
        "Up to this much, by chance, is taken off segment.ms, so that not all roll at once.",
        minimum=0,
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", _HOUR_MS)),
    ),
    ConfigKey(
        "segment.index.bytes",
        INT,
        "10485760",
        "The largest size of an offset or time index; a full one rolls the segment.",
        minimum=4,
        synonyms=_same("log.index.size.max.bytes"),
    ),
    ConfigKey(
        "flush.messages",
        LONG,
        MAX_LONG,
        "Sync the log after so many records.",
        minimum=1,
        synonyms=_same("log.flush.interval.messages"),
    ),
    ConfigKey(
        "flush.ms",
        LONG,
        MAX_LONG,
        "Sync the log when a record has waited so long.",
        minimum=0,
        synonyms=(Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    ),
    ConfigKey(
        "retention.bytes",
        LONG,
        "-1",
        "Oldest segments go while the partition is larger than this; negative: no limit.",
        synonyms=_same("log.retention.bytes"),
    ),
    ConfigKey(
        "retention.ms",
        LONG,
        "604800000",
        "A segment goes when its newest record is older than this; -1: never.",
        minimum=-1,
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", _MINUTE_MS),
            Synonym("log.retention.hours", _HOUR_MS),
        ),
    ),
    ConfigKey(
        "max.message.bytes",
        INT,
        "1048588",
        "The largest record batch taken, as it is sent: compressed, with its 12 bytes of overhead.",
        minimum=0,
        synonyms=_same("message.max.bytes"),
    ),
    ConfigKey(
        "max.decompressed.message.bytes",
        INT,
        "2147483639",
        "The largest size to which the records of one batch may decompress.",
        minimum=1,
        maximum=2147483639,
        synonyms=_same("max.decompressed.message.bytes"),
    ),
    ConfigKey(
        "index.interval.bytes",
        INT,
        "4096",
        "Bytes appended between two entries of the offset index.",
        minimum=0,
        synonyms=_same("log.index.interval.bytes"),
    ),
    ConfigKey(
        "delete.retention.ms",
        LONG,
        "86400000",
        "How long compaction keeps tombstones and end-transaction markers.",
        minimum=0,
        synonyms=_same("log.cleaner.delete.retention.ms"),
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        LONG,
        "0",
        "A record is not compacted before it is this old.",
        minimum=0,
        synonyms=_same("log.cleaner.min.compaction.lag.ms"),
    ),
    ConfigKey(
        "max.compaction.lag.ms",
        LONG,
        MAX_LONG,
        "A record is up for compaction once it is this old, whatever the dirty ratio.",
        minimum=1,
        synonyms=_same("log.cleaner.max.compaction.lag.ms"),
    ),
    ConfigKey(
        "file.delete.delay.ms",
        LONG,
        "60000",
        "How long a deleted segment's files stay, renamed, for those still reading.",
        minimum=0,
        synonyms=_same("log.segment.delete.delay.ms"),
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        "0.5",
        "Compact when at least this part of the log is new since the last time.",
        minimum=0,
        maximum=1,
        synonyms=_same("log.cleaner.min.cleanable.ratio"),
    ),
    ConfigKey(
        "cleanup.policy",
        LIST,
        "delete",
        "Drop old segments, compact to each key's last record, both, or (empty) keep all.",
        one_of=_CLEANUP_POLICIES,
        synonyms=_same("log.cleanup.policy"),
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        "false",
        "Whether a replica outside the ISR may lead when no other is left, at the price of data.",
        synonyms=_same("unclean.leader.election.enable"),
    ),
    ConfigKey(
        "min.insync.replicas",
        INT,
        "1",
        "With fewer replicas in sync, a produce with acks=all is refused.",
        minimum=1,
        synonyms=_same("min.insync.replicas"),
    ),
    ConfigKey(
        "compression.type",
        STRING,
        "producer",
        "The codec that the broker stores with; producer: as the batch came.",
        one_of=_CODECS,
        synonyms=_same("compression.type"),
    ),
    ConfigKey(
        "compression.gzip.level",
        INT,
        "-1",
        "gzip's level where the broker compresses; -1: the library's own.",
        minimum=1,
        maximum=9,
        also=-1,
        synonyms=_same("compression.gzip.level"),
    ),
    ConfigKey(
        "compression.lz4.level",
        INT,
        "9",
        "lz4's level where the broker compresses.",
        minimum=1,
        maximum=17,
        synonyms=_same("compression.lz4.level"),
    ),
    ConfigKey(
        "compression.zstd.level",
        INT,
        "3",
        "zstd's level where the broker compresses.",
        minimum=-131072,
        maximum=22,
        synonyms=_same("compression.zstd.level"),
    ),
    ConfigKey(
        "preallocate",
        BOOLEAN,
        "false",
        "Whether a new segment's file gets its full size at once.",
        synonyms=_same("log.preallocate"),
    ),
    ConfigKey(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Whether records keep the producer's time or get the time of the append.",
        one_of=_TIMESTAMP_TYPES,
        synonyms=_same("log.message.timestamp.type"),
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        LONG,
        MAX_LONG,
        "Refuse records whose create time lies further back than this.",
        minimum=0,
        synonyms=_same("log.message.timestamp.before.max.ms"),
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        LONG,
        "3600000",
        "Refuse records whose create time lies further ahead than this.",
        minimum=0,
        synonyms=_same("log.message.timestamp.after.max.ms"),
    ),
    ConfigKey(
        "leader.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose sending to followers is throttled; * for all.",
        check=check_replicas,
    ),
    ConfigKey(
        "follower.replication.throttled.replicas",
        LIST,
        "",
        "Replicas whose fetching from leaders is throttled; * for all.",
        check=check_replicas,
    ),
    ConfigKey(
        "remote.storage.enable",
        BOOLEAN,
        "false",
        "Tiered storage; true is refused, as by a Kafka that has none. Kafka differs: it can have"
        " it, by a class of Java that it loads (remote.log.storage.manager.class.name). None can be"
        " loaded here.",
    ),
    ConfigKey(
        "local.retention.ms",
        LONG,
        "-2",
        "Of tiered storage; -2: retention.ms. Without effect.",
        minimum=-2,
        synonyms=_same("log.local.retention.ms"),
    ),
    ConfigKey(
        "local.retention.bytes",
        LONG,
        "-2",
        "Of tiered storage; -2: retention.bytes. Without effect.",
        minimum=-2,
        synonyms=_same("log.local.retention.bytes"),
    ),
    ConfigKey("remote.log.copy.disable", BOOLEAN, "false", "Of tiered storage. Without effect."),
    ConfigKey(
        "remote.copy.lag.ms",
        LONG,
        "0",
        "Of tiered storage. Without effect.",
        minimum=-1,
        synonyms=_same("log.remote.copy.lag.ms"),
    ),
    ConfigKey(
        "remote.copy.lag.bytes",
        LONG,
        "-1",
        "Of tiered storage. Without effect.",
        minimum=-1,
        synonyms=_same("log.remote.copy.lag.bytes"),
    ),
    ConfigKey(
        "remote.log.delete.on.disable", BOOLEAN, "false", "Of tiered storage. Without effect."
    ),
    ConfigKey(
        "errors.deadletterqueue.group.enable",
        BOOLEAN,
        "false",
        "Whether share groups may use the topic as a dead letter queue. Without effect yet.",
    ),
    ConfigKey(
        "internal.segment.bytes",
        INT,
        None,
        "Replaces segment.bytes, without its floor of 1 MiB: for tests.",
        is_internal=True,
    ),
)
TOPIC_KEYS = {key.name: key for key in _TOPIC_KEYS}
"""By name, in the order of Kafka's checks. `internal.segment.bytes` is not described."""
"""By name."""

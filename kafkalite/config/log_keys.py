"""Logs: where they are, how they are kept, cleaned and written out."""

from __future__ import annotations

from kafkalite.config.keys import BOOLEAN, DOUBLE, INT, LIST, LONG, STRING, ConfigKey

LOG_KEYS = (
    ConfigKey(
        "log.dir",
        LIST,
        "kafkalite-data",
        "The data folder where log.dirs is not set. Kafka differs: /tmp/kafka-logs, which the next"
        " start of the machine may empty.",
        may_be_empty=False,
    ),
    ConfigKey(
        "log.dirs",
        LIST,
        None,
        "The data folders, separated by commas; a new partition goes to the one with the fewest.",
        may_be_empty=False,
    ),
    ConfigKey(
        "cordoned.log.dirs",
        LIST,
        "",
        "Data folders that get no new partitions; * for all. Kafka differs: when all are, it makes"
        " no topic; here that is as if none was.",
    ),
    ConfigKey(
        "metadata.log.dir",
        STRING,
        None,
        "The folder of the metadata log; not set: the first data folder. Kafka differs: it takes"
        " one that is none of the data folders, too.",
    ),
    ConfigKey(
        "log.retention.check.interval.ms",
        LONG,
        "300000",
        "How often segments are looked over for deletion.",
        minimum=1,
    ),
    ConfigKey("log.cleaner.enable", BOOLEAN, "true", "Whether logs are compacted."),
    ConfigKey(
        "log.cleaner.threads",
        INT,
        "1",
        "Logs of one log folder that are compacted at a time.",
        minimum=0,
    ),
    ConfigKey(
        "log.cleaner.backoff.ms",
        LONG,
        "15000",
        "How long a cleaner with nothing to do sleeps.",
        minimum=0,
    ),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size",
        LONG,
        "134217728",
        "Memory of all cleaners together for the keys that they have seen.",
    ),
    ConfigKey(
        "log.cleaner.io.buffer.load.factor",
        DOUBLE,
        "0.9",
        "How full the cleaners' table of keys may get.",
    ),
    ConfigKey(
        "log.cleaner.io.buffer.size",
        INT,
        "524288",
        "Memory of all cleaners together for reading and writing.",
        minimum=0,
    ),
    ConfigKey(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE,
        "1.7976931348623157E308",
        "The most that cleaners read and write in a second.",
    ),
    ConfigKey(
        "log.initial.task.delay.ms",
        LONG,
        "30000",
        "How long after the start segments and checkpoints are looked over for the first time.",
        minimum=0,
        is_internal=True,
    ),
    ConfigKey(
        "log.flush.offset.checkpoint.interval.ms",
        INT,
        "60000",
        "How often recovery points are written.",
        minimum=0,
    ),
    ConfigKey(
        "log.flush.start.offset.checkpoint.interval.ms",
        INT,
        "60000",
        "How often log start offsets are written.",
        minimum=0,
    ),
    ConfigKey(
        "producer.id.expiration.ms",
        INT,
        "86400000",
        "Forget an idempotent producer's sequences after so long without a batch.",
        minimum=1,
    ),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        INT,
        "600000",
        "How often producers that have been silent for so long are looked for.",
        minimum=1,
        is_internal=True,
    ),
    ConfigKey(
        "metadata.log.segment.bytes",
        INT,
        "1073741824",
        "The largest segment file of the metadata log.",
        minimum=8388608,
    ),
    ConfigKey(
        "metadata.log.segment.ms",
        LONG,
        "604800000",
        "A segment of the metadata log is closed after so long.",
    ),
    ConfigKey(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        "20971520",
        "Bytes of metadata records after which a snapshot is written.",
        minimum=1,
    ),
    ConfigKey(
        "metadata.log.max.snapshot.interval.ms",
        LONG,
        "3600000",
        "The longest time between two snapshots of changed metadata; 0: no such limit.",
        minimum=0,
    ),
    ConfigKey(
        "metadata.max.retention.bytes",
        LONG,
        "104857600",
        "Old metadata goes while log and snapshots are larger than this together. In memory, it and"
        " metadata.log.max.record.bytes.between.snapshots are 4 MiB at most.",
    ),
    ConfigKey(
        "metadata.max.retention.ms",
        LONG,
        "604800000",
        "Metadata segments and snapshots go when they are older than this.",
    ),
    ConfigKey(
        "kafkalite.fsync",
        BOOLEAN,
        "false",
        "Whether acks=all is answered, and records are seen, only once they are on the disk, as"
        " with flush.messages=1 for every topic. Kafka's default, and ours, leaves it to the"
        " operating system when they are.",
    ),
    ConfigKey(
        "kafkalite.record.validation",
        STRING,
        "header",
        "What a produced batch is held against: all that its header tells, or each record too.",
        one_of=("header", "full"),
    ),
)

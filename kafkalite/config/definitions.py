"""Every topic key of Kafka 4.4, and the broker keys that kafkalite acts on.

Names, types, defaults, ranges and synonyms are facts of Kafka 4.4.0's definitions; the tests hold
them against what the real broker describes (`tests/data/configs.json`) and refuses. Topic keys
stand in the order in which Kafka checks them, so that of two wrong values the same one is named.
Keys that begin with `kafkalite.` are ours.
"""

from __future__ import annotations

from kafkalite.config.keys import ConfigKey, ConfigType, Synonym, check_assignors, check_replicas

BOOLEAN, STRING, INT, SHORT = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
)
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
PASSWORD = ConfigType.PASSWORD

MAX_LONG = str(2**63 - 1)
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

_BROKER_KEYS = (
    ConfigKey(
        "node.id",
        INT,
        "1",
        "This broker's number in the cluster. Kafka differs: it has no default.",
        minimum=0,
    ),
    ConfigKey("broker.id", INT, "-1", "The older name of node.id; -1: not set."),
    ConfigKey(
        "inter.broker.listener.name",
        STRING,
        None,
        "The listener that brokers use among themselves.",
    ),
    ConfigKey("broker.rack", STRING, None, "The rack that replicas are spread over."),
    ConfigKey(
        "listeners",
        LIST,
        "PLAINTEXT://:9092",
        "Where to listen: NAME://host:port.",
        may_be_empty=False,
    ),
    ConfigKey(
        "advertised.listeners",
        LIST,
        None,
        "What clients are told to connect to; not set: the address that each has reached."
        " Kafka differs: not set, it is the listeners.",
        may_be_empty=False,
    ),
    ConfigKey(
        "controller.listener.names",
        LIST,
        None,
        "Names of listeners that controllers use among themselves. Kafka differs: its controllers"
        " listen on them; here the broker is its own controller, and nobody connects to it.",
        may_be_empty=False,
    ),
    ConfigKey(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener's name: NAME:PROTOCOL. PLAINTEXT and SSL are"
        " spoken; SASL is not yet.",
    ),
    ConfigKey(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        "The security protocol among brokers, where no listener is named for it.",
        one_of=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    ConfigKey(
        "ssl.keystore.type",
        STRING,
        "JKS",
        "The format of ssl.keystore.location: PKCS12 or PEM. Kafka differs: it reads JKS proper;"
        " here JKS means PKCS12 too, which keytool writes unless told otherwise.",
    ),
    ConfigKey("ssl.keystore.location", STRING, None, "The file with key and certificates."),
    ConfigKey("ssl.keystore.password", PASSWORD, None, "What unlocks that file."),
    ConfigKey("ssl.key.password", PASSWORD, None, "What unlocks the private key."),
    ConfigKey("ssl.keystore.key", PASSWORD, None, "The private key, in PEM."),
    ConfigKey(
        "ssl.keystore.certificate.chain", PASSWORD, None, "The certificates that are shown, in PEM."
    ),
    ConfigKey(
        "ssl.truststore.type",
        STRING,
        "JKS",
        "The format of ssl.truststore.location; as ssl.keystore.type.",
    ),
    ConfigKey(
        "ssl.truststore.location",
        STRING,
        None,
        "The file with the certificates that are trusted; not set: those that the system trusts.",
    ),
    ConfigKey("ssl.truststore.password", PASSWORD, None, "What unlocks that file."),
    ConfigKey(
        "ssl.truststore.certificates", PASSWORD, None, "The certificates that are trusted, in PEM."
    ),
    ConfigKey(
        "ssl.client.auth",
        STRING,
        "none",
        "Whether TLS clients must, may or need not show a certificate.",
        one_of=("required", "requested", "none"),
    ),
    ConfigKey(
        "ssl.enabled.protocols",
        LIST,
        "TLSv1.2,TLSv1.3",
        "The versions of TLS that may be used. Older ones than TLSv1.2 are passed over, as Java"
        " does by default.",
    ),
    ConfigKey(
        "ssl.protocol",
        STRING,
        "TLSv1.3",
        "The newest version of TLS that this broker speaks as another's client.",
    ),
    ConfigKey(
        "ssl.cipher.suites",
        LIST,
        "",
        "The TLS cipher suites that may be used, by Java's names; empty: all good ones."
        " Kafka differs: of TLSv1.3 it takes some; here it is all of its suites or none.",
    ),
    ConfigKey(
        "ssl.endpoint.identification.algorithm",
        STRING,
        "https",
        "How another broker's name is held against its certificate; empty: it is not.",
    ),
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
        "auto.create.topics.enable",
        BOOLEAN,
        "true",
        "Whether asking for an unknown topic's metadata may create it.",
    ),
    ConfigKey("delete.topic.enable", BOOLEAN, "true", "Whether DeleteTopics is allowed."),
    ConfigKey("num.partitions", INT, "1", "Partitions of a topic that names no count.", minimum=1),
    ConfigKey("default.replication.factor", INT, "1", "Replicas of a topic that names no count."),
    ConfigKey(
        "auto.leader.rebalance.enable",
        BOOLEAN,
        "true",
        "Whether leadership goes back to preferred replicas by itself.",
    ),
    ConfigKey(
        "controlled.shutdown.enable",
        BOOLEAN,
        "true",
        "Whether a broker hands its leaderships over before it stops.",
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        LONG,
        "300",
        "How often the controller looks for partitions not led by their preferred replica.",
        minimum=1,
    ),
    ConfigKey(
        "unclean.leader.election.interval.ms",
        LONG,
        "300000",
        "How often the controller looks for partitions without a leader that may get an unclean"
        " one.",
        minimum=1,
        is_internal=True,
    ),
    ConfigKey(
        "socket.request.max.bytes",
        INT,
        "104857600",
        "The largest request taken; a larger one closes the connection.",
        minimum=1,
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        INT,
        "262144",
        "SO_SNDBUF of client sockets; -1: the system's. Kafka differs: 102400, with which large"
        " fetches take more time here.",
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        INT,
        "102400",
        "SO_RCVBUF of client sockets; -1: the system's.",
    ),
    ConfigKey(
        "socket.listen.backlog.size",
        INT,
        "1024",
        "Connections that may wait to be accepted. Kafka differs: 50, for which a thousand clients"
        " at once wait many seconds.",
        minimum=1,
    ),
    ConfigKey(
        "connections.max.idle.ms", LONG, "600000", "Close a connection that was silent so long."
    ),
    ConfigKey("max.connections", INT, "2147483647", "Connections open at once.", minimum=0),
    ConfigKey(
        "max.connections.per.ip",
        INT,
        "2147483647",
        "Connections open at once from one address; 0 only with overrides.",
        minimum=0,
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Other limits for some addresses: HOST:COUNT,HOST:COUNT.",
    ),
    ConfigKey(
        "queued.max.requests", INT, "500", "Requests read but not answered, in all.", minimum=1
    ),
    ConfigKey("request.timeout.ms", INT, "30000", "How long this broker waits for another."),
    ConfigKey(
        "fetch.max.bytes",
        INT,
        "57671680",
        "The most that one Fetch answer carries, whatever the request asks.",
        minimum=1024,
    ),
    ConfigKey(
        "max.incremental.fetch.session.cache.slots",
        INT,
        "1000",
        "Fetch sessions kept; 0: none.",
        minimum=0,
    ),
    ConfigKey(
        "max.request.partition.size.limit",
        INT,
        "2000",
        "Partitions in one DescribeTopicPartitions answer.",
        minimum=1,
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
        "replica.selector.class",
        STRING,
        None,
        "Which replica a consumer reads from that tells its rack. "
        "org.apache.kafka.common.replica.RackAwareReplicaSelector: one in that rack; any other "
        "class: the leader.",
    ),
    ConfigKey(
        "replica.lag.time.max.ms",
        LONG,
        "30000",
        "A follower that has not caught up for so long leaves the ISR.",
    ),
    ConfigKey(
        "replica.fetch.max.bytes",
        INT,
        "1048576",
        "What a follower asks of one partition at a time.",
        minimum=0,
    ),
    ConfigKey(
        "replica.fetch.response.max.bytes",
        INT,
        "10485760",
        "What a follower asks of all partitions together.",
        minimum=0,
    ),
    ConfigKey("replica.fetch.min.bytes", INT, "1", "What a follower's fetch waits for."),
    ConfigKey("replica.fetch.wait.max.ms", INT, "500", "How long a follower's fetch waits."),
    ConfigKey(
        "replica.fetch.backoff.ms",
        INT,
        "1000",
        "How long a follower rests a partition after an error.",
        minimum=0,
    ),
    ConfigKey(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        "5000",
        "How often high watermarks are written.",
    ),
    ConfigKey(
        "offset.metadata.max.bytes",
        INT,
        "4096",
        "The longest text that may go with a committed offset.",
    ),
    ConfigKey(
        "offsets.commit.timeout.ms",
        INT,
        "5000",
        "How long a commit waits for the replicas of its partition.",
        minimum=1,
    ),
    ConfigKey(
        "offsets.load.buffer.size",
        INT,
        "5242880",
        "Bytes read at a time while a coordinator loads.",
        minimum=1,
    ),
    ConfigKey(
        "group.consumer.assignment.interval.ms",
        INT,
        "0",
        "The least time between two assignments of a consumer group. Kafka differs: 1000, against"
        " which tests wait.",
        minimum=0,
    ),
    ConfigKey(
        "group.consumer.assignors",
        LIST,
        "uniform,range",
        "How the broker spreads partitions in consumer groups; the first is the default."
        " Kafka differs: it takes names of Java classes too.",
        check=check_assignors,
        form="uniform and range",
        may_be_empty=False,
    ),
    ConfigKey(
        "group.consumer.heartbeat.interval.ms",
        INT,
        "500",
        "How often members of consumer groups are to send heartbeats: they learn of a rebalance"
        " with the next one. Kafka differs: 5000, against which tests wait.",
        minimum=1,
    ),
    ConfigKey(
        "group.consumer.max.size",
        INT,
        "2147483647",
        "The most members that a consumer group may have.",
        minimum=1,
    ),
    ConfigKey(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        "Which way groups may pass between the classic and the consumer protocol while in use.",
        one_of=("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        is_case_sensitive=False,
    ),
    ConfigKey(
        "group.consumer.min.heartbeat.interval.ms",
        INT,
        "100",
        "The smallest heartbeat interval that a consumer group may have."
        " Kafka differs: 5000, like that default.",
        minimum=1,
    ),
    ConfigKey(
        "group.consumer.min.session.timeout.ms",
        INT,
        "1000",
        "The smallest session timeout that a consumer group may have."
        " Kafka differs: 45000, like that default.",
        minimum=1,
    ),
    ConfigKey(
        "group.consumer.session.timeout.ms",
        INT,
        "10000",
        "A consumer group's member silent for so long is out. Kafka differs: 45000, against which"
        " tests wait.",
        minimum=1,
    ),
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        LIST,
        "classic,consumer,streams",
        "The group protocols that are on; streams groups are still to come.",
        one_of=("consumer", "classic", "share", "streams"),
        may_be_empty=False,
    ),
    ConfigKey(
        "group.initial.rebalance.delay.ms",
        INT,
        "0",
        "How long a new group waits for more members. Kafka differs: 3000, against which tests"
        " wait.",
    ),
    ConfigKey(
        "group.max.session.timeout.ms",
        INT,
        "1800000",
        "The longest session timeout that a member may have.",
    ),
    ConfigKey(
        "group.max.size",
        INT,
        "2147483647",
        "How many members a group may have.",
        minimum=1,
    ),
    ConfigKey(
        "group.min.session.timeout.ms",
        INT,
        "6000",
        "The shortest session timeout that a member may have.",
    ),
    ConfigKey(
        "offsets.retention.minutes",
        INT,
        "10080",
        "Offsets of an empty group are forgotten after so long.",
        minimum=1,
    ),
    ConfigKey(
        "offsets.retention.check.interval.ms",
        LONG,
        "600000",
        "How often old offsets are looked for.",
        minimum=1,
    ),
    ConfigKey(
        "offsets.topic.compression.codec",
        INT,
        "0",
        "The number of the codec of the batches in __consumer_offsets; 0: none.",
        minimum=0,
        maximum=4,
    ),
    ConfigKey(
        "offsets.topic.num.partitions", INT, "50", "Partitions of __consumer_offsets.", minimum=1
    ),
    ConfigKey(
        "offsets.topic.replication.factor",
        SHORT,
        "3",
        "Replicas of __consumer_offsets. Kafka differs: it fails where so many brokers are not.",
        minimum=1,
    ),
    ConfigKey(
        "offsets.topic.segment.bytes",
        INT,
        "104857600",
        "segment.bytes of __consumer_offsets.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.max.timeout.ms",
        INT,
        "900000",
        "The longest timeout that a transaction may ask for.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        BOOLEAN,
        "true",
        "Whether a transactional batch is taken only for a partition of its transaction.",
    ),
    ConfigKey(
        "transactional.id.expiration.ms",
        INT,
        "604800000",
        "A transactional id that is unused for so long is forgotten.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        "3600000",
        "How often transactional ids that are long unused are looked for.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.state.log.load.buffer.size",
        INT,
        "5242880",
        "Bytes read at a time while a transaction coordinator loads.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.state.log.num.partitions",
        INT,
        "50",
        "Partitions of __transaction_state.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.state.log.replication.factor",
        SHORT,
        "3",
        "Replicas of __transaction_state. Kafka differs: it fails where so many brokers are not.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.state.log.min.isr",
        INT,
        "2",
        "min.insync.replicas of __transaction_state, as far as there are replicas.",
        minimum=1,
    ),
    ConfigKey(
        "transaction.state.log.segment.bytes",
        INT,
        "104857600",
        "segment.bytes of __transaction_state.",
        minimum=1,
    ),
    ConfigKey(
        "share.coordinator.state.topic.num.partitions",
        INT,
        "50",
        "Partitions of __share_group_state.",
        minimum=1,
    ),
    ConfigKey(
        "share.coordinator.state.topic.replication.factor",
        SHORT,
        "3",
        "Replicas of __share_group_state. Kafka differs: it fails where so many brokers are not.",
        minimum=1,
    ),
    ConfigKey(
        "share.coordinator.state.topic.min.isr",
        SHORT,
        "2",
        "min.insync.replicas of __share_group_state, as far as there are replicas.",
        minimum=1,
    ),
    ConfigKey(
        "share.coordinator.state.topic.segment.bytes",
        INT,
        "104857600",
        "segment.bytes of __share_group_state.",
        minimum=1,
    ),
    ConfigKey(
        "metadata.log.segment.bytes",
        INT,
        "1073741824",
        "The largest segment file of the metadata log.",
        minimum=8388608,
    ),
    ConfigKey(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        "20971520",
        "Bytes of metadata records after which a snapshot is written.",
        minimum=1,
    ),
    ConfigKey(
        "kafkalite.clamp.replication",
        BOOLEAN,
        "false",
        "Whether a topic that wants more replicas than there are brokers gets as many as it can.",
    ),
    ConfigKey(
        "kafkalite.cluster.id",
        STRING,
        None,
        "The cluster's id that a new data folder gets; not set: a random one. The images of Kafka"
        " take it from CLUSTER_ID.",
        form="ASCII letters, digits and signs, without blanks and backslashes",
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
        "kafkalite.group.evict.on.disconnect",
        BOOLEAN,
        "false",
        "Whether a group's member is out the moment its connection drops, and the others get its"
        " partitions at once. Kafka, and our default, gives it its session timeout to come back.",
    ),
    ConfigKey(
        "kafkalite.record.validation",
        STRING,
        "header",
        "What a produced batch is held against: all that its header tells, or each record too.",
        one_of=("header", "full"),
    ),
    ConfigKey(
        "kafkalite.zookeeper.digest",
        PASSWORD,
        None,
        "USER:PASSWORD by which a broker with --zookeeper logs in there (scheme digest). Znodes are"
        " then made for that user to write, and for all to read.",
    ),
)

_TOPIC_SYNONYMS = (
    ConfigKey("log.roll.hours", INT, "168", "segment.ms in hours.", minimum=1),
    ConfigKey("log.roll.ms", LONG, None, "segment.ms of topics."),
    ConfigKey("log.roll.jitter.hours", INT, "0", "segment.jitter.ms in hours.", minimum=0),
    ConfigKey("log.roll.jitter.ms", LONG, None, "segment.jitter.ms of topics."),
    ConfigKey("log.retention.hours", INT, "168", "retention.ms in hours."),
    ConfigKey("log.retention.minutes", INT, None, "retention.ms in minutes."),
    ConfigKey("log.retention.ms", LONG, None, "retention.ms of topics."),
    ConfigKey("log.flush.interval.ms", LONG, None, "flush.ms of topics."),
    ConfigKey("log.flush.scheduler.interval.ms", LONG, MAX_LONG, "flush.ms where none is set."),
)


def _with_synonyms() -> dict[str, ConfigKey]:
    """The broker keys, with those that are a topic key under another name."""
    keys = {key.name: key for key in (*_BROKER_KEYS, *_TOPIC_SYNONYMS)}
    for topic_key in _TOPIC_KEYS:
        for synonym in topic_key.synonyms:
            if synonym.name not in keys:
                doc = f"{topic_key.name} of topics that do not set it."
                keys[synonym.name] = topic_key._replace(name=synonym.name, doc=doc, synonyms=())
    return keys


BROKER_KEYS = _with_synonyms()
"""By name. Kafka's other broker keys are taken and ignored until they act. Internal ones are not
described."""

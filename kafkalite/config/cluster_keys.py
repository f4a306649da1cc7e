"""Topics as they are made, replication, and what brokers share."""

from __future__ import annotations

from kafkalite.config.keys import BOOLEAN, INT, LONG, PASSWORD, STRING, ConfigKey

CLUSTER_KEYS = (
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
        "kafkalite.zookeeper.digest",
        PASSWORD,
        None,
        "USER:PASSWORD by which a broker with --zookeeper logs in there (scheme digest). Znodes are"
        " then made for that user to write, and for all to read.",
    ),
)

"""Groups and their offsets, transactions, and the topics where their coordinators keep them."""

from __future__ import annotations

from kafkalite.config.keys import (
    ASSIGNORS,
    BOOLEAN,
    INT,
    LIST,
    LONG,
    SHORT,
    STRING,
    ConfigKey,
    check_assignors,
)

COORDINATOR_KEYS = (
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
        ",".join(ASSIGNORS),
        "How the broker spreads partitions in consumer groups; the first is the default."
        " Kafka differs: it takes names of Java classes too.",
        check=check_assignors,
        form=" and ".join(ASSIGNORS),
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
        "kafkalite.group.evict.on.disconnect",
        BOOLEAN,
        "false",
        "Whether a group's member is out the moment its connection drops, and the others get its"
        " partitions at once. Kafka, and our default, gives it its session timeout to come back.",
    ),
)

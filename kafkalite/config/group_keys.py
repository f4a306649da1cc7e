"""The keys of groups (KIP-848, KIP-932, KIP-1071), of which those of consumer groups act."""

from __future__ import annotations

from kafkalite.config.described_keys import NOT_ACTED_ON
from kafkalite.config.keys import ConfigKey, ConfigType, Synonym


def _group_key(
    name: str,
    type: ConfigType,
    default: str,
    doc: str,
    *,
    of_broker: str | None = None,
    minimum: int | None = None,
    one_of: tuple[str, ...] = (),
) -> ConfigKey:
    """`of_broker`: the broker key behind it, when it is not `group.` and the name. Those of
    consumer groups act."""
    return ConfigKey(
        name,
        type,
        default,
        doc if name.startswith("consumer.") else f"{doc} {NOT_ACTED_ON}",
        minimum=minimum,
        one_of=one_of,
        synonyms=(Synonym(of_broker or f"group.{name}"),),
    )


_GROUP_KEYS = (
    _group_key(
        "consumer.assignment.interval.ms",
        ConfigType.INT,
        "1000",
        "The least time between two assignments of the consumer group.",
        minimum=0,
    ),
    _group_key(
        "consumer.heartbeat.interval.ms",
        ConfigType.INT,
        "5000",
        "How often members of the consumer group are to send heartbeats.",
        minimum=1,
    ),
    _group_key(
        "consumer.session.timeout.ms",
        ConfigType.INT,
        "45000",
        "A member of a consumer group that is silent for so long is out.",
        minimum=1,
    ),
    _group_key(
        "errors.deadletterqueue.copy.record.enable",
        ConfigType.BOOLEAN,
        "false",
        "Whether a record that a share group gives up is copied whole.",
        of_broker="errors.deadletterqueue.copy.record.enable",
    ),
    _group_key(
        "errors.deadletterqueue.topic.name",
        ConfigType.STRING,
        "",
        "Where a share group puts records that it gives up; empty: nowhere.",
        of_broker="errors.deadletterqueue.topic.name",
    ),
    _group_key(
        "share.assignment.interval.ms",
        ConfigType.INT,
        "1000",
        "The least time between two assignments of the share group.",
        minimum=0,
    ),
    _group_key(
        "share.auto.offset.reset",
        ConfigType.STRING,
        "latest",
        "Where a share group starts: earliest, latest, or by_duration and how far back.",
        of_broker="share.auto.offset.reset",
    ),
    _group_key(
        "share.delivery.count.limit",
        ConfigType.INT,
        "5",
        "How often a record is given out before the share group gives it up.",
        minimum=2,
    ),
    _group_key(
        "share.heartbeat.interval.ms",
        ConfigType.INT,
        "5000",
        "How often members of the share group are to send heartbeats.",
        minimum=1,
    ),
    _group_key(
        "share.isolation.level",
        ConfigType.STRING,
        "read_uncommitted",
        "Whether a share group reads records of transactions that are not committed.",
        of_broker="share.isolation.level",
        one_of=("read_committed", "read_uncommitted"),
    ),
    _group_key(
        "share.partition.max.record.locks",
        ConfigType.INT,
        "2000",
        "Records of one partition that the share group may have locked at a time.",
        minimum=100,
    ),
    _group_key(
        "share.record.lock.duration.ms",
        ConfigType.INT,
        "30000",
        "How long a record given out stays locked for its consumer.",
        minimum=1000,
    ),
    _group_key(
        "share.renew.acknowledge.enable",
        ConfigType.BOOLEAN,
        "true",
        "Whether consumers of the share group may renew their locks.",
        of_broker="share.renew.acknowledge.enable",
    ),
    _group_key(
        "share.session.timeout.ms",
        ConfigType.INT,
        "45000",
        "A member of a share group that is silent for so long is out.",
        minimum=1,
    ),
    _group_key(
        "streams.assignment.interval.ms",
        ConfigType.INT,
        "1000",
        "The least time between two assignments of the streams group.",
        minimum=0,
    ),
    _group_key(
        "streams.assignor.name",
        ConfigType.STRING,
        "sticky",
        "How the tasks of the streams group are spread.",
        of_broker="group.streams.assignors",
    ),
    _group_key(
        "streams.heartbeat.interval.ms",
        ConfigType.INT,
        "5000",
        "How often members of the streams group are to send heartbeats.",
        minimum=1,
    ),
    _group_key(
        "streams.initial.rebalance.delay.ms",
        ConfigType.INT,
        "3000",
        "How long an empty streams group waits for more members.",
        minimum=0,
    ),
    _group_key(
        "streams.num.standby.replicas",
        ConfigType.INT,
        "0",
        "Standby copies of each task of the streams group.",
        minimum=0,
    ),
    _group_key(
        "streams.rack.aware.assignment.tags",
        ConfigType.LIST,
        "",
        "Client tags that standby tasks of the streams group are spread over.",
    ),
    _group_key(
        "streams.session.timeout.ms",
        ConfigType.INT,
        "45000",
        "A member of a streams group that is silent for so long is out.",
        minimum=1,
    ),
)
GROUP_KEYS = {key.name: key for key in _GROUP_KEYS}
"""By name. Some have a narrower range, which the broker sets: see `group_configs.py`."""

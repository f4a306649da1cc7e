"""The topics in which brokers keep state of their own: what they look like, and how what wants more
replicas than there are brokers is clamped.

Kafka differs: a factor of an internal topic that it cannot give (the default is 3) is refused again
and again until there are brokers enough. Here the topic gets as many replicas as there are brokers,
and a `min.insync.replicas` that those that live can give, with one line in the log.

Source: Kafka's `DefaultAutoTopicCreationManager.creatableTopic`; the settings were asked of the
real broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.events import NewTopic
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

_MIN_IN_SYNC = "min.insync.replicas"


def wanted_internal_topic(config: BrokerConfig, name: str) -> NewTopic:
    """The topic, one of `INTERNAL_TOPICS`, as the settings ask for it."""
    return _KINDS[name].wanted(config)


def factor_setting(name: str) -> str:
    """Which setting says how many replicas an internal topic has."""
    return _KINDS[name].factor_setting


def clamped(topic: NewTopic, config: BrokerConfig, image: MetadataImage) -> NewTopic:
    """The topic with no more replicas than brokers are registered, which is what placement takes
    (one that is away gets its replicas when it is back), and with no larger `min.insync.replicas`
    than brokers live. `config`: of the broker that asks, for what the topic leaves open."""
    if topic.assignments:
        return topic
    live, registered = max(1, len(image.active_brokers())), max(1, len(image.brokers))
    factor = topic.replication_factor
    if factor == -1:
        factor = config.default_replication_factor
    given = dict(topic.configs)
    in_sync = given.get(_MIN_IN_SYNC) or str(config.topic_defaults.min_insync_replicas)
    most_in_sync = min(live, max(factor, 1))
    if in_sync.isdecimal() and int(in_sync) > most_in_sync:
        topic = topic._replace(configs=(*topic.configs, (_MIN_IN_SYNC, str(most_in_sync))))
    return topic._replace(replication_factor=registered) if factor > registered else topic


def _offsets_topic(config: BrokerConfig) -> NewTopic:
    return NewTopic(
        CONSUMER_OFFSETS,
        num_partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=(
            ("cleanup.policy", "compact"),
            ("compression.type", "producer"),
            ("segment.bytes", str(config.offsets_topic_segment_bytes)),
        ),
    )


def _transactions_topic(config: BrokerConfig) -> NewTopic:
    return NewTopic(
        TRANSACTION_STATE,
        num_partitions=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        configs=(
            ("cleanup.policy", "compact"),
            ("compression.type", "uncompressed"),
            (_MIN_IN_SYNC, str(config.transaction_state_log_min_isr)),
            ("segment.bytes", str(config.transaction_state_log_segment_bytes)),
            ("unclean.leader.election.enable", "false"),
        ),
    )


def _shares_topic(config: BrokerConfig) -> NewTopic:
    return NewTopic(
        SHARE_GROUP_STATE,
        num_partitions=config.share_coordinator_state_topic_num_partitions,
        replication_factor=config.share_coordinator_state_topic_replication_factor,
        configs=(
            ("cleanup.policy", "delete"),
            ("compression.type", "producer"),
            (_MIN_IN_SYNC, str(config.share_coordinator_state_topic_min_isr)),
            ("retention.ms", "-1"),
            ("segment.bytes", str(config.share_coordinator_state_topic_segment_bytes)),
        ),
    )


class _Kind(NamedTuple):
    factor_setting: str
    wanted: Callable[[BrokerConfig], NewTopic]
    """As the settings ask for."""


_KINDS = {
    CONSUMER_OFFSETS: _Kind("offsets.topic.replication.factor", _offsets_topic),
    TRANSACTION_STATE: _Kind("transaction.state.log.replication.factor", _transactions_topic),
    SHARE_GROUP_STATE: _Kind("share.coordinator.state.topic.replication.factor", _shares_topic),
}

"""The topics in which the broker keeps state of its own: what they look like, and how what wants
more replicas than there are brokers is clamped.

Kafka differs: a factor of an internal topic that it cannot give (the default is 3) is refused again
and again until there are brokers enough. Here the topic gets as many replicas as brokers live, and
a `min.insync.replicas` that those can give, with one line in the log.

Source: Kafka's `DefaultAutoTopicCreationManager.creatableTopic`.
"""

from __future__ import annotations

import logging

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.events import NewTopic
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.server.request import Services

_log = logging.getLogger(__name__)

_MIN_IN_SYNC = "min.insync.replicas"


def is_made_here(name: str) -> bool:
    """Whether this broker makes the topic for itself, and knows its settings."""
    return name == CONSUMER_OFFSETS


def internal_topic(services: Services, name: str) -> NewTopic:
    """How the topic is made with the brokers that live now."""
    assert is_made_here(name), name
    config = services.config
    wanted = _offsets_topic(config)
    made = clamped(services, wanted)
    if made != wanted:
        _log.warning(
            "%s: replication factor %d instead of %d (offsets.topic.replication.factor), "
            "min.insync.replicas at most that: only so many brokers live",
            name,
            made.replication_factor,
            wanted.replication_factor,
        )
    return made


def clamped(services: Services, topic: NewTopic) -> NewTopic:
    """The topic with no more replicas than brokers live, and no larger `min.insync.replicas`."""
    if topic.assignments:
        return topic
    config = services.config
    live = max(1, len(services.image.active_brokers()))
    factor = topic.replication_factor
    if factor == -1:
        factor = config.default_replication_factor
    given = dict(topic.configs)
    in_sync = given.get(_MIN_IN_SYNC) or str(config.topic_defaults.min_insync_replicas)
    most_in_sync = min(live, max(factor, 1))
    if in_sync.isdecimal() and int(in_sync) > most_in_sync:
        topic = topic._replace(configs=(*topic.configs, (_MIN_IN_SYNC, str(most_in_sync))))
    return topic._replace(replication_factor=live) if factor > live else topic


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

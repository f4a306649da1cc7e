"""Asks the controller to create topics: for CreateTopics, for Metadata's auto-creation, and for the
coordinators, whose topics are made on first use.

The controller decides without luck of its own, so the ids and the seed of the placement are drawn
here.

With `kafkalite.clamp.replication=true` a topic that wants more replicas than there are brokers gets
as many as there are, and a `min.insync.replicas` that those that live can give: what was written
for a cluster of three runs on one broker.

Kafka differs: it has no `kafkalite.clamp.replication`. A factor that it cannot give it refuses with
INVALID_REPLICATION_FACTOR; so does kafkalite without the setting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from kafkalite.controller.events import CreatedTopic, CreateTopics, NewTopic, TopicsCreated
from kafkalite.controller.internal_topics import clamped, factor_setting, wanted_internal_topic
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import TopicImage
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.server.disk_troubles import Trouble
from kafkalite.server.request import Services

_log = logging.getLogger(__name__)

OnCreated = Callable[[TopicsCreated | KafkaError], None]
OnTopic = Callable[[TopicImage | KafkaError], None]


def create_topics(
    services: Services,
    topics: Sequence[NewTopic],
    on_created: OnCreated,
    *,
    validate_only: bool = False,
) -> None:
    """Call `on_created` once the topics are usable on every live broker, or refused."""
    entropy = services.entropy
    if services.config.kafkalite_clamp_replication:
        topics = [clamped(topic, services.config, services.image) for topic in topics]
    services.controller.submit(
        CreateTopics(
            token=None,
            topics=tuple(topics),
            topic_ids=tuple(entropy.uuid() for _ in topics),
            placement_seed=int.from_bytes(entropy.token_bytes(8)),
            validate_only=validate_only,
        ),
        on_created,
    )


def auto_create(services: Services, names: Sequence[str], on_created: OnCreated) -> None:
    """Create with the broker's defaults; internal topics with their own settings. A name that
    someone else created meanwhile is no error to the caller, who looks at the image again."""
    config = services.config
    internal = {
        name: wanted_internal_topic(config, name) for name in names if name in INTERNAL_TOPICS
    }
    topics = [
        clamped(internal[name], config, services.image)
        if name in internal
        else NewTopic(
            name,
            num_partitions=config.num_partitions,
            replication_factor=config.default_replication_factor,
        )
        for name in names
    ]

    def tell(result: TopicsCreated | KafkaError) -> None:
        for topic in result.topics if isinstance(result, TopicsCreated) else ():
            if isinstance(topic, CreatedTopic) and topic.name in internal:
                _tell_of_fewer_replicas(topic, internal[topic.name])
        on_created(result)

    create_topics(services, topics, tell)


def _tell_of_fewer_replicas(made: CreatedTopic, wanted: NewTopic) -> None:
    if made.replication_factor != wanted.replication_factor:
        _log.info(  # The usual case here, and nothing that a person has to mend.
            "%s: replication factor %d instead of %d (%s), "
            "min.insync.replicas at most that: there are only so many brokers",
            made.name,
            made.replication_factor,
            wanted.replication_factor,
            factor_setting(made.name),
        )


def need_internal_topic(services: Services, name: str, on_topic: OnTopic) -> None:
    """Call `on_topic` with the topic: now when it is there, else once it is made and its leaders
    lead. COORDINATOR_NOT_AVAILABLE when it cannot be made, which clients take as "ask again"."""
    found = services.image.topics.get(name)
    if found is not None:
        on_topic(found)
        return

    def on_created(result: TopicsCreated | KafkaError) -> None:
        made = services.image.topics.get(name)  # Somebody else may have been quicker.
        if made is not None:
            services.creation_troubles.pop(name, None)
            on_topic(made)
            return
        refusal = result if isinstance(result, KafkaError) else result.topics[0]
        if not isinstance(refusal, CreatedTopic):  # Else it is gone again, or not here yet.
            trouble = services.creation_troubles.setdefault(name, Trouble())
            why = refusal.message or refusal.code.name
            _log.log(trouble.level(refusal.code.name), "%s cannot be made: %s", name, why)
        on_topic(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    auto_create(services, [name], on_created)

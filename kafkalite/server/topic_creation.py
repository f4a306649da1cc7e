"""Asks the controller to create topics: for CreateTopics, and for Metadata's auto-creation.

The controller decides without luck of its own, so the ids and the seed of the placement are drawn
here.

Kafka differs: asked for the metadata of `__consumer_offsets` or another topic of a coordinator, it
creates that with its own settings. Here it is made like any other until its coordinator is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkalite.controller.events import CreateTopics, NewTopic, TopicsCreated
from kafkalite.errors import KafkaError
from kafkalite.server.request import Services

OnCreated = Callable[[TopicsCreated | KafkaError], None]


def create_topics(
    services: Services,
    topics: Sequence[NewTopic],
    on_created: OnCreated,
    *,
    validate_only: bool = False,
) -> None:
    """Call `on_created` once the topics are usable on every live broker, or refused."""
    entropy = services.entropy
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
    """Create with the broker's defaults. A name that someone else created meanwhile is no error to
    the caller, who looks at the image again."""
    config = services.config
    wanted = [
        NewTopic(
            name,
            num_partitions=config.num_partitions,
            replication_factor=config.default_replication_factor,
        )
        for name in names
    ]
    create_topics(services, wanted, on_created)

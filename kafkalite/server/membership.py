"""Until the metadata has this life of a broker, what it says of the broker is about an earlier one.

That one may have died with records that its disk has lost. So the broker leads nothing of what the
image has it lead, until the controller has registered it anew, and has decided who leads. Over
ZooKeeper the store sees to it: there each state tells whether it is older than the registration
(`stores/znodes_lives.py`).

Source: Kafka's `BrokerServer.startup`, which publishes no metadata before the broker has seen its
own registration.
"""

from __future__ import annotations

from kafkalite.metadata.delta import MetadataDelta, whole
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.types import NO_LEADER, BrokerId, Uuid


class Membership:
    """Of one life of a broker."""

    def __init__(self, broker_id: BrokerId, incarnation_id: Uuid, *, waits: bool) -> None:
        """`waits`: whether anybody else could decide meanwhile."""
        self._broker_id = broker_id
        self._incarnation_id = incarnation_id
        self._is_known = not waits

    def seen(
        self, image: MetadataImage, delta: MetadataDelta
    ) -> tuple[MetadataImage, MetadataDelta]:
        """What the broker is to fold of that."""
        if self._is_known:
            return image, delta
        me = image.brokers.get(self._broker_id)
        if me is None or me.incarnation_id != self._incarnation_id:
            return _led_by_others(image, self._broker_id), delta
        self._is_known = True
        return image, whole(image)._replace(deleted=delta.deleted)


def _led_by_others(image: MetadataImage, me: BrokerId) -> MetadataImage:
    topics = {name: _topic_led_by_others(topic, me) for name, topic in image.topics.items()}
    return image._replace(
        topics=topics, topics_by_id={topic.id: topic for topic in topics.values()}
    )


def _topic_led_by_others(topic: TopicImage, me: BrokerId) -> TopicImage:
    if all(partition.leader != me for partition in topic.partitions):
        return topic
    return topic._replace(
        partitions=tuple(
            partition._replace(leader=NO_LEADER) if partition.leader == me else partition
            for partition in topic.partitions
        )
    )

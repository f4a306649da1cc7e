"""What a fold changed, for those who act on it: the replica manager, coordinators, quotas,
caches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from kafkalite.metadata.image import ConfigResource, MetadataImage, PartitionImage, TopicImage
from kafkalite.metadata.scram import ScramKey
from kafkalite.types import BrokerId

K = TypeVar("K")


class PartitionChange(NamedTuple):
    """One partition that is new or another than before."""

    topic: TopicImage
    """As it is now."""
    partition: int
    before: PartitionImage | None
    """None: the partition is new."""
    after: PartitionImage


class TopicChange(NamedTuple):
    """A topic whose partitions changed; it keeps name and id."""

    before: TopicImage
    after: TopicImage


class MetadataDelta(NamedTuple):
    """What differs between two images. A topic made and deleted within one fold is in none of
    these; one deleted and made again under the same name is in both `deleted` and `created`, with
    its two ids."""

    deleted: tuple[TopicImage, ...] = ()
    """As they were. Act on these before `created`."""
    created: tuple[TopicImage, ...] = ()
    changed: tuple[TopicChange, ...] = ()
    brokers: tuple[BrokerId, ...] = ()
    """Registered, changed or gone."""
    configs: tuple[ConfigResource, ...] = ()
    users: tuple[str, ...] = ()
    """Whose SCRAM credentials were set or deleted."""
    features: bool = False
    """Whether a finalized level changed."""

    def partitions(self) -> Iterator[PartitionChange]:
        """Partitions made or changed, those of deleted topics left out."""
        for topic in self.created:
            for index, partition in enumerate(topic.partitions):
                yield PartitionChange(topic, index, None, partition)
        for change in self.changed:
            old = change.before.partitions
            for index, partition in enumerate(change.after.partitions):
                before = old[index] if index < len(old) else None
                if before is not partition:
                    yield PartitionChange(change.after, index, before, partition)


class Fold(NamedTuple):
    """An image, and how it differs from the one before."""

    image: MetadataImage
    delta: MetadataDelta


def whole(image: MetadataImage) -> MetadataDelta:
    """All that is in the image, as new: what a watcher is told first."""
    return MetadataDelta(
        created=tuple(image.topics.values()),
        brokers=tuple(image.brokers),
        configs=tuple(image.configs),
        users=_users(image.scram_credentials),
        features=bool(image.features),
    )


def difference(before: MetadataImage, after: MetadataImage) -> MetadataDelta:
    """Between two images of one cluster, whatever happened in between."""
    deleted, created, changed = [], [], []
    for name, old in before.topics.items():
        new = after.topics.get(name)
        if new is None or new.id != old.id:
            deleted.append(old)
    for name, new in after.topics.items():
        known = before.topics.get(name)
        if known is None or known.id != new.id:
            created.append(new)
        elif known != new:
            changed.append(TopicChange(known, new))
    return MetadataDelta(
        deleted=tuple(deleted),
        created=tuple(created),
        changed=tuple(changed),
        brokers=_differing(before.brokers, after.brokers),
        configs=_differing(before.configs, after.configs),
        users=_users(_differing(before.scram_credentials, after.scram_credentials)),
        features=before.features != after.features,
    )


def _users(keys: Iterable[ScramKey]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key.user for key in keys))


def _differing(before: Mapping[K, object], after: Mapping[K, object]) -> tuple[K, ...]:
    return tuple(key for key in {**before, **after} if before.get(key) != after.get(key))

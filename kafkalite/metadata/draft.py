"""The fold: changes go into a draft, and the draft becomes the next image.

Applying never refuses: what the controller decided is the truth. Changes that contradict what went
before (a partition of a topic that does not exist) mean a damaged log, and raise `InvariantError`.

Source: Kafka's `TopicDelta`, `ClusterDelta`, `ConfigurationsDelta`, `FeaturesDelta`,
`ProducerIdsDelta`, and `PartitionRegistration.merge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change, UnknownChange
from kafkalite.metadata.delta import Fold, MetadataDelta, TopicChange
from kafkalite.metadata.image import (
    BrokerImage,
    ConfigResource,
    ConfigResourceType,
    ControllerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.metadata.registrations import (
    changed_partition,
    new_partition,
    registered_broker,
    registered_controller,
    uuids,
)
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from kafkalite.types import BrokerId, ControllerEpoch, Offset, ProducerId, Uuid

_K = TypeVar("_K")
_V = TypeVar("_V")


class _TopicDraft:
    """A topic that this draft makes or changes."""

    __slots__ = ("before", "id", "name", "partitions")

    def __init__(self, name: str, id: Uuid, before: TopicImage | None) -> None:
        self.name = name
        self.id = id
        self.before = before
        self.partitions: dict[int, PartitionImage] = (
            {} if before is None else dict(enumerate(before.partitions))
        )

    def image(self) -> TopicImage:
        partitions = self.partitions
        if partitions and max(partitions) != len(partitions) - 1:
            raise InvariantError(
                f"the partitions of topic {self.name} have gaps: {sorted(partitions)}"
            )
        return TopicImage(self.name, self.id, tuple(partitions[i] for i in range(len(partitions))))


class MetadataDraft:
    """The next image in the making. `apply` any number of changes, then `finish` once."""

    def __init__(self, base: MetadataImage) -> None:
        self._base = base
        self._topics: dict[Uuid, _TopicDraft] = {}
        self._deleted: dict[Uuid, TopicImage] = {}
        self._ids: dict[str, Uuid | None] = {}
        """Names that this draft gave or took (None)."""
        self._brokers: dict[BrokerId, BrokerImage | None] = {}
        self._controllers: dict[BrokerId, ControllerImage | None] = {}
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._features: dict[str, int] = {}
        self._next_producer_id = base.next_producer_id

    def apply_all(self, changes: Iterable[Change]) -> None:
        """Each in turn."""
        for change in changes:
            self.apply(change)

    def apply(self, change: Change) -> None:
        """Take one change in. `InvariantError` when it contradicts what went before."""
        match change:
            case PartitionRecord():
                self._topic(change.topic_id).partitions[change.partition_id] = new_partition(change)
            case PartitionChangeRecord():
                self._change_partition(change)
            case TopicRecord():
                self._create_topic(change)
            case RemoveTopicRecord():
                self._remove_topic(Uuid(bytes(change.topic_id)))
            case ConfigRecord():
                self._set_config(change)
            case ClearElrRecord():
                self._clear_elr(change.topic_name)
            case ProducerIdsRecord():
                self._next_producer_id = ProducerId(change.next_producer_id)
            case FeatureLevelRecord():
                self._features[change.name] = change.feature_level
            case RegisterBrokerRecord():
                self._brokers[BrokerId(change.broker_id)] = registered_broker(change)
            case UnregisterBrokerRecord():
                self._broker(change.broker_id, change.broker_epoch)
                self._brokers[BrokerId(change.broker_id)] = None
            case FenceBrokerRecord():
                self._fence(change.id, change.epoch, fenced=True)
            case UnfenceBrokerRecord():
                self._fence(change.id, change.epoch, fenced=False)
            case BrokerRegistrationChangeRecord():
                self._change_broker(change)
            case RegisterControllerRecord():
                self._controllers[BrokerId(change.controller_id)] = registered_controller(change)
            case UnregisterControllerRecord():
                self._controllers[BrokerId(change.controller_id)] = None
            case (
                NoOpRecord()
                | BeginTransactionRecord()
                | EndTransactionRecord()
                | AbortTransactionRecord()
                | AccessControlEntryRecord()
                | RemoveAccessControlEntryRecord()
                | ClientQuotaRecord()
                | DelegationTokenRecord()
                | RemoveDelegationTokenRecord()
                | UserScramCredentialRecord()
                | RemoveUserScramCredentialRecord()
                | ZkMigrationStateRecord()
                | UnknownChange()
            ):
                pass  # Transactions are the log's affair; the rest is not acted on yet.
            case _:
                assert_never(change)

    def finish(
        self,
        *,
        end_offset: Offset,
        epoch: ControllerEpoch,
        controller_id: BrokerId,
        cluster_id: str | None = None,
    ) -> Fold:
        """The image up to `end_offset` (exclusive), and what changed. The draft is not to be used
        again."""
        base = self._base
        made = {id: draft.image() for id, draft in self._topics.items()}
        features = _merged(base.features, {n: level or None for n, level in self._features.items()})
        image = base._replace(
            cluster_id=base.cluster_id if cluster_id is None else cluster_id,
            end_offset=end_offset,
            epoch=epoch,
            controller_id=controller_id,
            topics=_merged(
                base.topics,
                {name: None for name, id in self._ids.items() if id is None}
                | {topic.name: topic for topic in made.values()},
            ),
            topics_by_id=_merged(base.topics_by_id, dict.fromkeys(self._deleted) | made),
            brokers=_merged(base.brokers, self._brokers),
            controllers=_merged(base.controllers, self._controllers),
            configs=_merged(
                base.configs, {r: values or None for r, values in self._configs.items()}
            ),
            features=features,
            next_producer_id=self._next_producer_id,
        )
        drafts = self._topics.items()
        delta = MetadataDelta(
            deleted=tuple(self._deleted.values()),
            created=tuple(made[id] for id, draft in drafts if draft.before is None),
            changed=tuple(
                TopicChange(d.before, made[id]) for id, d in drafts if d.before is not None
            ),
            brokers=tuple(self._brokers),
            configs=tuple(self._configs),
            features=features is not base.features and features != base.features,
        )
        return Fold(image, delta)

    # Topics.

    def _topic(self, raw_id: bytes) -> _TopicDraft:
        draft = self._topics.get(Uuid(raw_id))
        if draft is None:
            id = Uuid(bytes(raw_id))
            before = None if id in self._deleted else self._base.topics_by_id.get(id)
            if before is None:
                raise InvariantError(
                    f"a metadata record names topic id {id.hex()}, which no topic has"
                )
            draft = self._topics[id] = _TopicDraft(before.name, id, before)
        return draft

    def _id_of(self, name: str) -> Uuid | None:
        if name in self._ids:
            return self._ids[name]
        topic = self._base.topics.get(name)
        return None if topic is None else topic.id

    def _create_topic(self, change: TopicRecord) -> None:
        if self._id_of(change.name) is not None:
            raise InvariantError(f"a metadata record creates topic {change.name}, which exists")
        id = Uuid(bytes(change.topic_id))
        self._topics[id] = _TopicDraft(change.name, id, None)
        self._ids[change.name] = id

    def _remove_topic(self, id: Uuid) -> None:
        draft = self._topic(id)
        del self._topics[id]
        if draft.before is not None:
            self._deleted[id] = draft.before
        self._ids[draft.name] = None
        resource = ConfigResource(ConfigResourceType.TOPIC, draft.name)
        if resource in self._base.configs or resource in self._configs:
            self._configs[resource] = {}

    def _change_partition(self, change: PartitionChangeRecord) -> None:
        partitions = self._topic(change.topic_id).partitions
        before = partitions.get(change.partition_id)
        if before is None:
            raise InvariantError(
                f"a metadata record changes partition {change.partition_id}, which is missing"
            )
        partitions[change.partition_id] = changed_partition(before, change)

    def _clear_elr(self, name: str) -> None:
        """An empty name stands for all topics."""
        if name:
            id = self._id_of(name)
            if id is None:
                raise InvariantError(f"a metadata record names topic {name}, which does not exist")
            ids = [id]
        else:
            ids = [
                *(id for id in self._base.topics_by_id if id not in self._deleted),
                *self._topics,
            ]
        for id in ids:
            partitions = self._topic(id).partitions
            for index, partition in partitions.items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partitions[index] = partition._replace(
                        eligible_leader_replicas=(), last_known_elr=()
                    )

    # Brokers.

    def _broker(self, raw_id: int, epoch: int) -> BrokerImage:
        id = BrokerId(raw_id)
        broker = self._brokers[id] if id in self._brokers else self._base.brokers.get(id)
        if broker is None or broker.epoch != epoch:
            raise InvariantError(
                f"a metadata record names broker {id} at epoch {epoch}; registered: {broker}"
            )
        return broker

    def _fence(self, raw_id: int, epoch: int, *, fenced: bool) -> None:
        self._brokers[BrokerId(raw_id)] = self._broker(raw_id, epoch)._replace(fenced=fenced)

    def _change_broker(self, change: BrokerRegistrationChangeRecord) -> None:
        """`fenced` is 1 to fence, -1 to unfence, 0 to leave it; `in_controlled_shutdown`
        likewise."""
        broker = self._broker(change.broker_id, change.broker_epoch)
        self._brokers[broker.id] = broker._replace(
            fenced=broker.fenced if change.fenced == 0 else change.fenced > 0,
            in_controlled_shutdown=broker.in_controlled_shutdown
            or change.in_controlled_shutdown > 0,
            log_dirs=uuids(change.log_dirs) or broker.log_dirs,
        )

    # Settings.

    def _set_config(self, change: ConfigRecord) -> None:
        resource = ConfigResource(change.resource_type, change.resource_name)
        values = self._configs.get(resource)
        if values is None:
            values = self._configs[resource] = dict(self._base.configs.get(resource, {}))
        if change.value is None:
            values.pop(change.name, None)
        else:
            values[change.name] = change.value


def fold(
    base: MetadataImage,
    changes: Iterable[Change],
    *,
    end_offset: Offset,
    epoch: ControllerEpoch,
    controller_id: BrokerId,
) -> Fold:
    """The image after `changes`, and how it differs from `base`."""
    draft = MetadataDraft(base)
    draft.apply_all(changes)
    return draft.finish(end_offset=end_offset, epoch=epoch, controller_id=controller_id)


def _merged(base: Mapping[_K, _V], edits: Mapping[_K, _V | None]) -> Mapping[_K, _V]:
    """`base` with the edits, where None removes; `base` itself when there are none."""
    if not edits:
        return base
    merged = dict(base)
    for key, value in edits.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged

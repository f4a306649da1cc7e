"""The fold: changes go into a draft, and the draft becomes the next image.

Applying never refuses: what the controller decided is the truth. Changes that contradict what went
before (a partition of a topic that does not exist) mean a damaged log, and raise `InvariantError`.

Source: Kafka's `MetadataDelta`, `ClusterDelta`, `ConfigurationsDelta`, `FeaturesDelta`,
`ProducerIdsDelta`, `ScramDelta`, and `PartitionRegistration.merge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change, LogChange, UnheldChange, UnknownChange
from kafkalite.metadata.delta import Fold, MetadataDelta
from kafkalite.metadata.image import (
    BrokerImage,
    ConfigResource,
    ConfigResourceType,
    ControllerImage,
    MetadataImage,
)
from kafkalite.metadata.registrations import (
    new_credential,
    registered_broker,
    registered_controller,
    uuids,
)
from kafkalite.metadata.scram import ScramCredential, ScramKey
from kafkalite.metadata.topics_draft import TopicsDraft
from kafkalite.protocol.messages import metadata_records as records
from kafkalite.types import BrokerId, ControllerEpoch, Offset, ProducerId

_K = TypeVar("_K")
_V = TypeVar("_V")


class MetadataDraft:
    """The next image in the making. `apply` any number of changes, then `finish` once."""

    def __init__(self, base: MetadataImage) -> None:
        self._base = base
        self._topics = TopicsDraft(base)
        self._brokers: dict[BrokerId, BrokerImage | None] = {}
        self._controllers: dict[BrokerId, ControllerImage | None] = {}
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._features: dict[str, int] = {}
        self._next_producer_id = base.next_producer_id
        self._scram: dict[ScramKey, ScramCredential | None] = {}

    def apply_all(self, changes: Iterable[Change]) -> None:
        """Each in turn."""
        for change in changes:
            self.apply(change)

    def apply(self, change: Change) -> None:
        """Take one change in. `InvariantError` when it contradicts what went before."""
        match change:
            case records.PartitionRecord():
                self._topics.create_partition(change)
            case records.PartitionChangeRecord():
                self._topics.change_partition(change)
            case records.TopicRecord():
                self._topics.create(change)
            case records.RemoveTopicRecord():
                self._remove_topic(change)
            case records.ConfigRecord():
                self._set_config(change)
            case records.ClearElrRecord():
                self._topics.clear_elr(change)
            case records.ProducerIdsRecord():
                self._next_producer_id = ProducerId(change.next_producer_id)
            case records.FeatureLevelRecord():
                self._features[change.name] = change.feature_level
            case records.RegisterBrokerRecord():
                self._brokers[BrokerId(change.broker_id)] = registered_broker(change)
            case records.UnregisterBrokerRecord():
                self._broker(change.broker_id, change.broker_epoch)
                self._brokers[BrokerId(change.broker_id)] = None
            case records.FenceBrokerRecord():
                self._fence(change.id, change.epoch, fenced=True)
            case records.UnfenceBrokerRecord():
                self._fence(change.id, change.epoch, fenced=False)
            case records.BrokerRegistrationChangeRecord():
                self._change_broker(change)
            case records.RegisterControllerRecord():
                self._controllers[BrokerId(change.controller_id)] = registered_controller(change)
            case records.UnregisterControllerRecord():
                self._controllers[BrokerId(change.controller_id)] = None
            case records.UserScramCredentialRecord():
                self._scram[ScramKey(change.mechanism, change.name)] = new_credential(change)
            case records.RemoveUserScramCredentialRecord():
                self._scram[ScramKey(change.mechanism, change.name)] = None
            case _ if isinstance(change, LogChange | UnheldChange | UnknownChange):
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
        topics = self._topics.finish()
        features = merged(base.features, {n: level or None for n, level in self._features.items()})
        image = base._replace(
            cluster_id=base.cluster_id if cluster_id is None else cluster_id,
            end_offset=end_offset,
            epoch=epoch,
            controller_id=controller_id,
            topics=merged(base.topics, topics.by_name),
            topics_by_id=merged(base.topics_by_id, topics.by_id),
            brokers=merged(base.brokers, self._brokers),
            controllers=merged(base.controllers, self._controllers),
            configs=merged(
                base.configs, {r: values or None for r, values in self._configs.items()}
            ),
            features=features,
            next_producer_id=self._next_producer_id,
            scram_credentials=merged(base.scram_credentials, self._scram),
        )
        delta = MetadataDelta(
            deleted=topics.deleted,
            created=topics.created,
            changed=topics.changed,
            brokers=tuple(self._brokers),
            configs=tuple(self._configs),
            users=tuple(dict.fromkeys(key.user for key in self._scram)),
            features=features is not base.features and features != base.features,
        )
        return Fold(image, delta)

    def _remove_topic(self, change: records.RemoveTopicRecord) -> None:
        """Its settings go with it."""
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topics.remove(change))
        if resource in self._base.configs or resource in self._configs:
            self._configs[resource] = {}

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

    def _change_broker(self, change: records.BrokerRegistrationChangeRecord) -> None:
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

    def _set_config(self, change: records.ConfigRecord) -> None:
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


def merged(base: Mapping[_K, _V], edits: Mapping[_K, _V | None]) -> Mapping[_K, _V]:
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

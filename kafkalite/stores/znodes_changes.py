"""Changes of the metadata as operations on znodes.

    topic made           config, assignment, and for each partition its folder and state
    partition changed    its state is set, so that its version is the partition epoch; the
                         assignment as well when that changed
    topic removed        the wish for it, and each state: nobody leads. The rest, see
                         `zookeeper_deletions.py`
    settings             the znode of the resource, and a notification
    credentials          the znode of the user, and a notification

What brokers are told of stands in no znode: each writes its own registration, and that it shuts
down or which log folders it has, only this controller knows. What is neither is not committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafkalite.errors import InvariantError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import Fold
from kafkalite.metadata.draft import fold
from kafkalite.metadata.image import (
    ConfigResource,
    ConfigResourceType,
    PartitionImage,
    TopicImage,
)
from kafkalite.metadata.scram import ScramCredential, ScramMechanism
from kafkalite.ports.zookeeper import ANY_VERSION, Check, Create, Delete, Operation, SetData
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from kafkalite.stores import znodes, znodes_deletions, znodes_users
from kafkalite.stores.znodes import Assignment, StateNode, TopicNode
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import BrokerEpoch, BrokerId, ControllerEpoch, ProducerId

_HELD = (
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
"""What znodes keep."""
_OF_BROKERS = (BrokerRegistrationChangeRecord, RegisterBrokerRecord)
_NOTIFIED = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER)
_MOST_BYTES: Final = 400_000
"""Of one transaction: ZooKeeper takes requests of 1 MiB (`jute.maxbuffer`)."""
_MOST_OPERATIONS: Final = 2_000


class DecidedSettings(NamedTuple):
    """All settings of some resources, and all credentials of some users, as the controller has
    committed them."""

    configs: Mapping[ConfigResource, Mapping[str, str]]
    credentials: Mapping[str, Mapping[int, ScramCredential]]
    """By user and `ScramMechanism`."""


NOTHING_DECIDED: Final = DecidedSettings({}, {})


class ChangePlan:
    """What one commit does."""

    def __init__(self, view: ZnodesView, changes: Sequence[Change], epoch: ControllerEpoch) -> None:
        """`view` is refreshed, and has all that this controller has committed. `InvariantError`
        for changes that contradict what went before, and for those that no znode would keep."""
        self._view = view
        self._epoch = epoch
        self._changes = [change for change in changes if isinstance(change, _HELD)]
        self._brokers = [change for change in changes if isinstance(change, _OF_BROKERS)]
        for change in changes:
            if not isinstance(change, (*_HELD, *_OF_BROKERS)):
                raise InvariantError(f"no znode keeps a {type(change).__name__}")
        image = view.image
        self._folded: Fold = fold(
            image,
            self._changes,
            end_offset=image.end_offset,
            epoch=image.epoch,
            controller_id=image.controller_id,
        )

    @property
    def own(self) -> DecidedSettings:
        """Whose settings and credentials it changes, and all that they are then."""
        image, delta = self._folded
        return DecidedSettings(
            {each: image.configs.get(each, {}) for each in delta.configs},
            {each: image.credentials_of(each) for each in delta.users},
        )

    @property
    def registered(self) -> dict[BrokerId, BrokerEpoch]:
        """The lives of brokers that are decided on from now on."""
        return {
            BrokerId(each.broker_id): BrokerEpoch(each.broker_epoch)
            for each in self._brokers
            if isinstance(each, RegisterBrokerRecord)
        }

    def operations(self) -> Iterator[Operation]:
        """All of them, in an order that can be done."""
        delta = self._folded.delta
        for topic in delta.deleted:
            yield from self._remove(topic)
        for topic in delta.created:
            yield from self._create(topic)
        for change in delta.changed:
            yield from self._grow(change.before, change.after)
        made = {topic.name for topic in (*delta.created, *delta.deleted)}
        for resource in delta.configs:
            if resource.type != ConfigResourceType.TOPIC or resource.name not in made:
                yield from self._configure(resource)
        yield from self._credentials()
        yield from self._producer_ids()

    def _remove(self, topic: TopicImage) -> Iterator[Operation]:
        name = topic.name
        view = self._view
        node = view.topic_node(name)
        assert node is not None, f"{name} is in the image and not in the view"
        yield from znodes_deletions.begin(name, node, view.nodes, view.state, self._epoch)

    def _create(self, topic: TopicImage) -> Iterator[Operation]:
        config = znodes.write_config(self._folded.image.topic_config(topic.name))
        yield from self._write(f"{znodes.CONFIG}/topics/{topic.name}", config)
        data = znodes.write_topic(_topic_node(topic))
        yield from self._write(znodes.topic_path(topic.name), data)
        was_there = self._view.topic_node(topic.name) is not None
        folders = self._view.partition_folders.get(topic.name)
        if not was_there or folders is None:
            yield Create(znodes.partitions_path(topic.name))
        for index, partition in enumerate(topic.partitions):
            yield from self._create_partition(topic.name, index, partition, folders or ())

    def _grow(self, before: TopicImage, after: TopicImage) -> Iterator[Operation]:
        node = self._view.node(znodes.topic_path(after.name))
        assert node is not None, f"{after.name} is in the image and not in the view"
        stands = znodes.read_topic(node.data)
        # A tool has added partitions, of which the controller has not decided who leads them.
        wanted = _topic_node(after, stands.partitions[len(after.partitions) :])
        if stands != wanted:
            data = znodes.write_topic(wanted)
            yield SetData(znodes.topic_path(after.name), data, node.stat.version)
        folders = self._view.partition_folders.get(after.name, frozenset())
        for index, partition in enumerate(after.partitions):
            if index >= len(before.partitions):
                yield from self._create_partition(after.name, index, partition, folders)
            elif partition is not before.partitions[index]:
                old = before.partitions[index].partition_epoch
                yield from self._set_state(after.name, index, partition, old)

    def _create_partition(
        self, topic: str, index: int, partition: PartitionImage, folders: Iterable[str]
    ) -> Iterator[Operation]:
        if str(index) not in folders:
            yield Create(znodes.partition_path(topic, index))
        yield Create(znodes.state_path(topic, index), self._state(partition))
        yield from self._set_state(topic, index, partition, 0)

    def _set_state(
        self, topic: str, index: int, partition: PartitionImage, version: int
    ) -> Iterator[Operation]:
        """As often as it has changed, for its version is the partition epoch."""
        path = znodes.state_path(topic, index)
        first = self._view.version_decided_on(path, version)
        for at in range(partition.partition_epoch - version):
            yield SetData(path, self._state(partition), first + at)

    def _state(self, partition: PartitionImage) -> bytes:
        return znodes.write_state(
            StateNode(
                partition.leader,
                partition.leader_epoch,
                partition.isr,
                self._epoch,
                partition.leader_recovery_state,
            )
        )

    def _configure(self, resource: ConfigResource) -> Iterator[Operation]:
        path = znodes.config_path(resource)
        if path is None:
            return
        values = self._folded.image.configs.get(resource, {})
        data = znodes.write_config(values)
        node = self._view.node(path)
        if node is not None and znodes.read_config(node.data) == values:
            return
        folder = path.rpartition("/")[0]
        if resource.type not in _NOTIFIED and folder not in self._view.folders:
            yield Create(folder)
        yield from self._write(path, data)
        if resource.type in _NOTIFIED:
            yield _notification(path)

    def _credentials(self) -> Iterator[Operation]:
        """Of each user those that change; what else stands there stays."""
        edits: dict[str, dict[ScramMechanism, ScramCredential | None]] = {}
        for change in self._changes:
            if isinstance(change, UserScramCredentialRecord | RemoveUserScramCredentialRecord):
                mechanism = ScramMechanism(change.mechanism)
                after = self._folded.image.scram_credential(mechanism, change.name)
                if self._view.image.scram_credential(mechanism, change.name) != after:
                    edits.setdefault(change.name, {})[mechanism] = after
        for user, credentials in edits.items():
            path = znodes_users.user_path(user)
            node = self._view.node(path)
            data = znodes_users.edited(node, credentials)
            if data is not None:
                yield from self._write(path, data)
            elif node is not None:
                yield Delete(path, node.stat.version)
            yield _notification(path)

    def _producer_ids(self) -> Iterator[Operation]:
        """One block, of however many were handed out at once."""
        taken = [change for change in self._changes if isinstance(change, ProducerIdsRecord)]
        if not taken:
            return
        first, last = self._view.image.next_producer_id, taken[-1]
        data = znodes.write_producer_ids(
            BrokerId(last.broker_id), first, ProducerId(last.next_producer_id - 1)
        )
        path = znodes.PRODUCER_IDS
        node = self._view.node(path)
        newest = ANY_VERSION if node is None else node.stat.version
        yield SetData(path, data, self._view.version_decided_on(path, newest))

    def _write(self, path: str, data: bytes) -> Iterator[Operation]:
        node = self._view.node(path)
        if node is None:
            yield Create(path, data)
        elif node.data != data:
            yield SetData(path, data, node.stat.version)


def chunks(operations: Iterable[Operation], fence: Check) -> Iterator[tuple[Operation, ...]]:
    """Transactions of a size that ZooKeeper takes, each behind the fence; the fence alone where
    there is nothing to do."""
    chunk: list[Operation] = [fence]
    size = 0
    for operation in operations:
        data = None if isinstance(operation, Check | Delete) else operation.data
        size += len(operation.path) + len(data or b"") + 64
        if size > _MOST_BYTES or len(chunk) > _MOST_OPERATIONS:
            yield tuple(chunk)
            chunk, size = [fence], len(operation.path) + len(data or b"")
        chunk.append(operation)
    yield tuple(chunk)


def _notification(path: str) -> Create:
    return Create(znodes.CONFIG_CHANGE, znodes.write_change_at(path), sequential=True)


def _topic_node(topic: TopicImage, further: tuple[Assignment, ...] = ()) -> TopicNode:
    """`further`: partitions that stand there behind those of the image."""
    known = (
        Assignment(each.replicas, each.adding_replicas, each.removing_replicas)
        for each in topic.partitions
    )
    return TopicNode(topic.id, (*known, *further))

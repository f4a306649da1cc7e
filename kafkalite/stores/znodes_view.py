"""What was read of a cluster's znodes, and the image that they make.

ZooKeeper gives no picture of one moment: znodes are read one after the other while others write.
So a topic comes into the image when its first partitions have a state, and partitions leave it with
their topic alone; a state that is missing for a while is as it was before. By a state that is about
an earlier life of its leader nobody leads, until a controller has decided (see `znodes_lives.py`).

Of what the image can hold, ZooKeeper has no place for a broker's incarnation (its epoch stands in),
its log folders and its shutdown, for brokers that are not alive, and for features. What the live
brokers all support is taken as finalized.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import TypeVar

from kafkalite.controller.eligible_replicas import ELIGIBLE_REPLICAS
from kafkalite.controller.features import FINALIZED, METADATA_VERSION, SUPPORTED
from kafkalite.metadata.delta import Fold, MetadataDelta, TopicChange, whole
from kafkalite.metadata.draft import merged
from kafkalite.metadata.image import (
    BrokerImage,
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.metadata.scram import ScramCredential, ScramKey, ScramMechanism
from kafkalite.metadata.store import BrokerRegistration, LiveBroker
from kafkalite.ports.zookeeper import Node
from kafkalite.stores import znodes, znodes_deletions, znodes_lives, znodes_users
from kafkalite.stores.znodes import StateNode, TopicNode
from kafkalite.stores.znodes_lives import Lives
from kafkalite.types import (
    NO_LEADER,
    ZERO_UUID,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Offset,
    Uuid,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ZnodesView:
    """One reader's. `put` whatever was read, then `refresh`."""

    def __init__(
        self, broker_id: BrokerId = NO_LEADER, session_id: Callable[[], int] = lambda: 0
    ) -> None:
        """`broker_id`: whose view it is, in the session of that number."""
        self._nodes: dict[str, Node] = {}
        self.lives = Lives(self._nodes, broker_id, session_id)
        self._below: dict[str, dict[str, None]] = {}
        self._topics: dict[str, TopicNode] = {}
        self._states: dict[str, StateNode | None] = {}
        """What was read of states, by their paths; None: not to be understood."""
        self._dirty_topics: dict[str, None] = {}
        """To be made anew as a whole."""
        self._dirty_states: dict[str, set[int]] = {}
        """Topics of which only these partitions are other than in the image."""
        self._dirty_brokers: dict[BrokerId, None] = {}
        self._dirty_configs: dict[ConfigResource, None] = {}
        self._dirty_users: dict[str, None] = {}
        self._outlived: dict[str, None] = {}
        """Topics with a state that is about an earlier life of its leader."""
        self._zxid = 0
        self._overtaken: dict[str, int] | None = None
        self.image = MetadataImage()
        """As of the last `refresh`."""
        self.folders: set[str] = set()
        """That are there, of those with settings."""
        self.config_changes: tuple[str, ...] = ()
        """Names of the notifications of settings, the oldest first."""
        self.going: dict[str, TopicImage] = {}
        """Topics whose deletion has begun. They are not in the image."""
        self.incomplete: dict[str, None] = {}
        """Topics that lack states or an id: another made them, and they wait for the
        controller."""
        self.partition_folders: dict[str, frozenset[str]] = {}
        """Of topics whose states are not all there: the names below `partitions`, which is missing
        where the topic is."""

    def node(self, path: str) -> Node | None:
        """As it was read last."""
        return self._nodes.get(path)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All, as they were read last, by path."""
        return self._nodes

    def topic_node(self, name: str) -> TopicNode | None:
        """None when it is not there, or not to be understood."""
        return self._topics.get(name)

    def state(self, path: str) -> StateNode | None:
        """Of a partition; None when it is not there, or not to be understood."""
        if path not in self._nodes:
            return None
        if path not in self._states:
            self._states[path] = self._parsed(path, znodes.read_state)
        return self._states[path]

    def topic_names(self) -> tuple[str, ...]:
        """Of all that were read, those that are not in the image too."""
        return tuple(self._topics)

    def below(self, folder: str) -> tuple[str, ...]:
        """The names of the znodes right below that were put; not of topics and partitions."""
        return tuple(self._below.get(folder, ()))

    def begin_term(self) -> None:
        """This broker is the controller, and decides on the image as it is now and on what it
        changes of it."""
        self._overtaken = {}

    def end_term(self) -> None:
        """It decides no more."""
        self._overtaken = None
        self.lives.end_term()

    def decides_on(self, broker: BrokerId, epoch: BrokerEpoch) -> None:
        """See `Lives.decides_on`."""
        self.lives.decides_on(broker, epoch)
        self._dirty_topics.update(self._outlived)

    def version_decided_on(self, path: str, newest: int) -> int:
        """Of a state, or of the block of producer ids, which another may have set meanwhile: then
        what is written behind that version is not done. `newest`: as far as the view goes. Settings
        are changed each by itself, and of what others ask for the controller is told."""
        return newest if self._overtaken is None else self._overtaken.get(path, newest)

    def put(self, path: str, node: Node | None, *, is_ours: bool = False) -> None:
        """It was read; None: it is not there. `is_ours`: it was written by this controller."""
        before = self._nodes.get(path)
        if before == node:
            return
        if self._overtaken is not None:
            if is_ours or node is None:
                self._overtaken.pop(path, None)
            elif before and before.stat.version != node.stat.version:
                self._overtaken.setdefault(path, before.stat.version)
        parent, _, name = path.rpartition("/")
        if node is None:
            del self._nodes[path]
            self._below.get(parent, {}).pop(name, None)
        else:
            self._nodes[path] = node
            if not path.startswith(f"{znodes.TOPICS}/"):
                self._below.setdefault(parent, {})[name] = None
            self._zxid = max(self._zxid, node.stat.mzxid, node.stat.czxid)
        self._mark(path)

    def put_told(self, path: str, state: StateNode, version: int) -> None:
        """A state that is known from a controller alone. It is the newest of all that is known."""
        stat = self._nodes[path].stat._replace(mzxid=self._zxid, version=version)
        self.put(path, Node(znodes.write_state(state), stat))

    def saw(self, zxid: int) -> None:
        """A transaction of ours, which may have left no znode that shows it."""
        self._zxid = max(self._zxid, zxid)

    def drop_topic(self, name: str) -> None:
        """It is gone, and with it all below it, and its settings."""
        topic = self._topics.get(name)
        for index in range(0 if topic is None else len(topic.partitions)):
            self.put(znodes.state_path(name, index), None)
        self.put(znodes.topic_path(name), None)
        self.put(f"{znodes.CONFIG}/topics/{name}", None)
        self.partition_folders.pop(name, None)

    def config_of_topic(self, name: str) -> Mapping[str, str]:
        """What was set on it, be it in the image or not."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        return self._config(resource) or {}

    def image_to_decide_on(self) -> MetadataImage:
        """For a controller that begins: as if the brokers that came back unnoticed led what they
        led and were not there, so that it registers them as those that come."""
        image = self.image
        gone = dict.fromkeys(znodes_lives.come_back(image, self._nodes))
        topics = {name: self._as_it_stands(image.topics[name]) for name in self._outlived}
        return image._replace(
            brokers=merged(image.brokers, gone),
            topics=merged(image.topics, topics),
            topics_by_id=merged(image.topics_by_id, {t.id: t for t in topics.values()}),
        )

    def live_brokers(self) -> tuple[LiveBroker, ...]:
        """Who is registered, by id."""
        return tuple(_live(self.image.brokers[id]) for id in sorted(self.image.brokers))

    def live_broker(self, id: BrokerId) -> LiveBroker:
        """One of them."""
        return _live(self.image.brokers[id])

    def all_there_is(self) -> MetadataDelta:
        """All of the image as new, and topics that are going as deleted: who was away drops them
        now. Those without an id are of no broker that is here."""
        gone = tuple(topic for topic in self.going.values() if topic.id != ZERO_UUID)
        return whole(self.image)._replace(deleted=gone)

    def refresh(self) -> Fold | None:
        """Make the image what was put; None when it was so before."""
        base = self.image
        topics, delta = self._changed_topics()
        brokers = {id: self._broker(id) for id in self._dirty_brokers}
        configs = {each: self._config(each) for each in self._dirty_configs}
        credentials = dict(chain.from_iterable(map(self._credentials, self._dirty_users)))
        controller = self._parsed(znodes.CONTROLLER, znodes.read_controller)
        epoch = self._parsed(znodes.CONTROLLER_EPOCH, lambda data: int(data or 0))
        next_id = self._parsed(znodes.PRODUCER_IDS, znodes.read_next_producer_id)
        image = base._replace(
            end_offset=Offset(self._zxid + 1),
            epoch=base.epoch if epoch is None else ControllerEpoch(epoch),
            controller_id=NO_LEADER if controller is None else controller,
            topics=merged(base.topics, topics),
            topics_by_id=merged(
                base.topics_by_id,
                {topic.id: None for topic in delta.deleted}
                | {t.id: t for t in topics.values() if t is not None},
            ),
            brokers=merged(base.brokers, brokers),
            configs=merged(
                base.configs, {each: values or None for each, values in configs.items()}
            ),
            next_producer_id=base.next_producer_id if next_id is None else next_id,
            scram_credentials=merged(base.scram_credentials, credentials),
        )
        image = image._replace(features=_features(image))
        delta = delta._replace(
            brokers=tuple(id for id in brokers if image.brokers.get(id) != base.brokers.get(id)),
            configs=tuple(c for c in configs if image.configs.get(c) != base.configs.get(c)),
            users=tuple(
                dict.fromkeys(
                    key.user
                    for key, after in credentials.items()
                    if base.scram_credentials.get(key) != after
                )
            ),
            features=image.features != base.features,
        )
        for name in (*self._dirty_topics, *self._dirty_states):
            self._judge(name, image.topics.get(name))
        self._dirty_topics.clear()
        self._dirty_states.clear()
        self._dirty_brokers.clear()
        self._dirty_configs.clear()
        self._dirty_users.clear()
        if image == base._replace(end_offset=image.end_offset):
            return None
        self.image = image
        return Fold(image, delta)

    def _mark(self, path: str) -> None:
        """What of the image that znode makes."""
        parts = path.split("/")
        match parts[1:]:
            case ["brokers", "topics", name]:
                self._read_topic(name)
                self._dirty_topics[name] = None
            case ["brokers", "topics", name, "partitions", index, "state"] if index.isdecimal():
                self._states.pop(path, None)
                self._dirty_states.setdefault(name, set()).add(int(index))
            case ["brokers", "ids", id] if id.isdecimal():
                self._dirty_brokers[BrokerId(int(id))] = None
                self._look_again_at(BrokerId(int(id)))
            case ["admin", "delete_topics", name]:
                self._dirty_topics[name] = None
            case ["controller"]:
                self._dirty_topics.update(self._outlived)
            case ["config", "users", *_]:
                user = znodes_users.user_of(path)
                if user is not None:
                    self._dirty_users[user] = None
            case ["config", *_]:
                resource = znodes.config_resource(path)
                if resource is not None:
                    self._dirty_configs[resource] = None
            case _:
                pass

    def _look_again_at(self, leader: BrokerId) -> None:
        self._dirty_topics.update(self._outlived)
        for name, topic in self.image.topics.items():
            if any(partition.leader == leader for partition in topic.partitions):
                self._dirty_topics[name] = None

    def _read_topic(self, name: str) -> None:
        node = self._parsed(znodes.topic_path(name), znodes.read_topic)
        if node is None:
            self._topics.pop(name, None)
        else:
            self._topics[name] = node

    def _changed_topics(self) -> tuple[dict[str, TopicImage | None], MetadataDelta]:
        base = self.image.topics
        topics: dict[str, TopicImage | None] = {}
        deleted, created, changed = [], [], []
        for name in dict.fromkeys((*self._dirty_topics, *self._dirty_states)):
            before = base.get(name)
            if name in self._dirty_topics or before is None or not self._stays(name, before):
                after = self._topic(name, before)
            else:
                after = self._with_states(before, self._dirty_states[name])
            if after == before:
                continue
            topics[name] = after
            if before is not None and after is not None and before.id == after.id:
                changed.append(TopicChange(before, after))
                continue
            if before is not None:
                deleted.append(before)
            if after is not None:
                created.append(after)
        return topics, MetadataDelta(tuple(deleted), tuple(created), tuple(changed))

    def _judge(self, name: str, topic: TopicImage | None) -> None:
        node = self._topics.get(name)
        known = 0 if topic is None else len(topic.partitions)
        if node is not None and (node.id is None or len(node.partitions) > known):
            self.incomplete[name] = None
        else:
            self.incomplete.pop(name, None)

    def _topic(self, name: str, before: TopicImage | None) -> TopicImage | None:
        self._outlived.pop(name, None)
        node = self._topics.get(name)
        if self._is_going(name, node) or node is None:
            return None
        id = node.id
        if id is None and before is not None:  # A tool of Kafka 2.7 or older wrote it anew.
            id = before.id
        if id is None:
            return None
        if before is not None and before.id != id:
            before = None
        partitions = tuple(self._partitions(name, node, before))
        if node.partitions and not partitions:
            return None
        return TopicImage(name, id, partitions)

    def _is_going(self, name: str, node: TopicNode | None) -> bool:
        was = self.going.pop(name, None) is not None
        is_going = node is not None and znodes_deletions.has_begun(
            name, node, self._nodes, self.state
        )
        if node is not None and is_going:
            self.going[name] = znodes_deletions.begun(name, node)
        if was != is_going:
            self._dirty_configs[ConfigResource(ConfigResourceType.TOPIC, name)] = None
        return is_going

    def _stays(self, name: str, topic: TopicImage) -> bool:
        """Whether it stays in the image."""
        node = self._topics.get(name)
        is_known = node is not None and len(node.partitions) >= len(topic.partitions)
        is_wanted = znodes_deletions.wish_path(name) not in self._nodes
        return is_known and is_wanted

    def _with_states(self, topic: TopicImage, indexes: Collection[int]) -> TopicImage:
        """A topic can be large, and its states come in one by one, or some at a time."""
        node = self._topics[topic.name]
        partitions = list(topic.partitions)
        for index in sorted(indexes):
            if index < len(partitions):
                old = partitions[index]
                partitions[index] = self._partition(topic.name, index, node, old) or old
        partitions += self._partitions(topic.name, node, None, first=len(partitions))
        return topic._replace(partitions=tuple(partitions))

    def _partitions(
        self, name: str, topic: TopicNode, before: TopicImage | None, *, first: int = 0
    ) -> Iterator[PartitionImage]:
        """Those from the first on that have a state."""
        known = () if before is None else before.partitions
        for index in range(first, len(topic.partitions)):
            old = known[index] if index < len(known) else None
            partition = self._partition(name, index, topic, old)
            if partition is None:
                return
            yield partition

    def _partition(
        self, name: str, index: int, topic: TopicNode, old: PartitionImage | None
    ) -> PartitionImage | None:
        """As its state has it; without one as it was."""
        path = znodes.state_path(name, index)
        state = self.state(path)
        if state is None:
            return old
        assignment = topic.partitions[index]
        partition = PartitionImage(
            replicas=assignment.replicas,
            isr=state.isr,
            leader=self._leader(name, path, state, old),
            leader_epoch=state.leader_epoch,
            partition_epoch=self._nodes[path].stat.version,
            removing_replicas=assignment.removing,
            adding_replicas=assignment.adding,
            leader_recovery_state=state.recovery_state,
        )
        return old if old == partition else partition

    def _leader(
        self, topic: str, path: str, state: StateNode, old: PartitionImage | None
    ) -> BrokerId:
        if not self.lives.is_in_doubt(path, state, old):
            return state.leader
        self._outlived[topic] = None
        return state.leader if self.lives.leads_in_doubt(state.leader) else NO_LEADER

    def _as_it_stands(self, topic: TopicImage) -> TopicImage:
        states = (
            self.state(znodes.state_path(topic.name, index))
            for index in range(len(topic.partitions))
        )
        return topic._replace(
            partitions=tuple(
                partition if state is None else partition._replace(leader=state.leader)
                for partition, state in zip(topic.partitions, states, strict=True)
            )
        )

    def _broker(self, id: BrokerId) -> BrokerImage | None:
        path = znodes.broker_path(id)
        node = self._parsed(path, znodes.read_broker)
        if node is None:
            return None
        czxid = self._nodes[path].stat.czxid
        return BrokerImage(
            id=id,
            epoch=BrokerEpoch(czxid),
            incarnation_id=incarnation_of(czxid),
            endpoints=node.endpoints,
            features=dict(node.features),
            rack=node.rack,
            fenced=False,
        )

    def _config(self, resource: ConfigResource) -> dict[str, str] | None:
        path = znodes.config_path(resource)
        is_going = resource.type == ConfigResourceType.TOPIC and resource.name in self.going
        return None if path is None or is_going else self._parsed(path, znodes.read_config)

    def _credentials(self, user: str) -> Iterator[tuple[ScramKey, ScramCredential | None]]:
        found = self._parsed(znodes_users.user_path(user), znodes_users.read_credentials) or {}
        for each in ScramMechanism:
            yield ScramKey(each, user), found.get(each)

    def _parsed(self, path: str, read: Callable[[bytes | None], T]) -> T | None:
        """None when it is not there, or not to be understood."""
        node = self._nodes.get(path)
        if node is None:
            return None
        try:
            return read(node.data)
        except ValueError as error:
            _log.warning("The znode %s is passed over: %s", path, error)
            return None


def incarnation_of(epoch: int) -> Uuid:
    """Stands for a broker's incarnation: another one for each registration."""
    return Uuid(epoch.to_bytes(16))


def _live(broker: BrokerImage) -> LiveBroker:
    """Kafka's own brokers tell no features here, and need none."""
    registration = BrokerRegistration(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        endpoints=broker.endpoints,
        features=tuple({**SUPPORTED, **broker.features}.items()),
        rack=broker.rack,
    )
    return LiveBroker(registration, broker.epoch)


def _features(image: MetadataImage) -> Mapping[str, int]:
    """See the module's docstring. A Kafka 3.9 finalizes none over ZooKeeper, and supports none."""
    brokers = image.brokers.values()
    return {
        name: level
        for name, level in FINALIZED.items()
        if name != ELIGIBLE_REPLICAS  # A partition's znode has no place for them.
        and (
            level == METADATA_VERSION
            or all(name in each.features and each.features[name].max >= level for each in brokers)
        )
    }

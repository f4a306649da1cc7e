"""Whether a partition's state is about an earlier life of a broker that it names.

A broker registers with each life, and all znodes count their transactions in one line. So a state
that was written before a broker registered says nothing of that broker as it is now: it may have
died unnoticed, and have lost records that others have. It leads nothing by such a state, until a
controller has written another one.

A controller of Kafka that is elected while the broker is there leaves the state as it is, and has
the broker lead in the same leader epoch. What it says holds.

A broker may die and come back while a commit is under way, or before the controller has heard of
it. Then a state is younger than the registration, and about the earlier life all the same:

- The broker itself leads nothing before it is registered. Where it led nothing in a leader epoch,
  whatever names it in that one is about its earlier life: who elects raises the epoch. It registers
  again, so that the state is the older one, for everybody.
- The controller has nobody lead whose present life it has not decided on.

Kafka's brokers act by what the controller tells them, and it names the life that it means (the
broker's epoch in each of its requests).

Source: Kafka's `KafkaController.initializeControllerContext`, `processBrokerChange` (of brokers
that bounced), `AbstractControllerBrokerRequestBatch`, `ZkSupport.isBrokerEpochStale`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.ports.zookeeper import Node
from kafkalite.stores import znodes
from kafkalite.stores.znodes import StateNode
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId


class Lives:
    """Of the brokers that one view knows."""

    def __init__(
        self, nodes: Mapping[str, Node], broker_id: BrokerId, session_id: Callable[[], int]
    ) -> None:
        """`nodes`: what was read, by path; `session_id`: of the broker that reads."""
        self._nodes = nodes
        self._broker_id = broker_id
        self._session_id = session_id
        self._decided_on: dict[BrokerId, BrokerEpoch] | None = None
        """The lives that this controller knows; None: it is not the controller."""
        self.is_named_too_late = False
        """Whether a state that is younger than this broker's registration is about an earlier
        life: it is to register again."""

    def begin_term(self, brokers: Mapping[BrokerId, BrokerEpoch]) -> None:
        """This broker is the controller, and begins with those."""
        self._decided_on = dict(brokers)

    def end_term(self) -> None:
        """It decides no more."""
        self._decided_on = None

    def decides_on(self, broker: BrokerId, epoch: BrokerEpoch) -> None:
        """What the controller writes from now on is about that life."""
        if self._decided_on is not None:
            self._decided_on[broker] = epoch

    def is_in_doubt(self, path: str, state: StateNode, before: PartitionImage | None) -> bool:
        """Whether the state, which stands at `path`, is about an earlier life of its leader, as far
        as is known now. `before`: what the image says of the partition."""
        leader = state.leader
        if leader == NO_LEADER:
            return False
        if leader == self._broker_id and not self._is_registered():
            return True
        registered = self._nodes.get(znodes.broker_path(leader))
        if registered is None:
            return False
        if is_earlier(self._nodes[path], self._nodes, leader):
            return True
        epoch = registered.stat.czxid
        if self._decided_on is not None and self._decided_on.get(leader) != epoch:
            return True
        led_nothing = (
            before is not None
            and before.leader == NO_LEADER
            and before.leader_epoch == state.leader_epoch
        )
        if leader != self._broker_id or not led_nothing or is_confirmed(self._nodes, leader):
            return False
        self.is_named_too_late = True
        return True

    def leads_in_doubt(self, broker: BrokerId) -> bool:
        """Whether it leads by such a state all the same."""
        is_here = broker != self._broker_id or self._is_registered()
        return is_here and is_confirmed(self._nodes, broker)

    def _is_registered(self) -> bool:
        mine = self._nodes.get(znodes.broker_path(self._broker_id))
        return mine is not None and mine.stat.ephemeral_owner == self._session_id()


def is_earlier(state: Node, nodes: Mapping[str, Node], broker: BrokerId) -> bool:
    """Whether the broker has registered since the state was written."""
    registered = nodes.get(znodes.broker_path(broker))
    return registered is not None and registered.stat.czxid > state.stat.mzxid


def is_confirmed(nodes: Mapping[str, Node], broker: BrokerId) -> bool:
    """Whether a controller of Kafka was elected since the broker registered. Brokers of Kafka are
    those that register no features: 3.9 has none over ZooKeeper."""
    registered = nodes.get(znodes.broker_path(broker))
    elected = nodes.get(znodes.CONTROLLER)
    if registered is None or elected is None or elected.stat.czxid < registered.stat.czxid:
        return False
    try:
        controller = nodes.get(znodes.broker_path(znodes.read_controller(elected.data)))
        return controller is not None and not znodes.read_broker(controller.data).features
    except ValueError:
        return False


def come_back(image: MetadataImage, nodes: Mapping[str, Node]) -> Collection[BrokerId]:
    """The live brokers of which some state is about an earlier life. For membership tests."""
    found: set[BrokerId] = set()
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            state = nodes.get(znodes.state_path(topic.name, index))
            if state is not None:
                found.update(id for id in partition.isr if is_earlier(state, nodes, id))
    return found

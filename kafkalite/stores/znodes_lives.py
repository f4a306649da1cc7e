"""Whether a partition's state is about an earlier life of a broker that it names.

A broker registers with each life, and all znodes count their transactions in one line. So a state
that was written before a broker registered says nothing of that broker as it is now: it may have
died unnoticed, and have lost records that others have. It leads nothing by such a state, until a
controller has written another one.

A controller of Kafka that is elected while the broker is there leaves the state as it is, and has
the broker lead in the same leader epoch. What it says holds.

Source: Kafka's `KafkaController.initializeControllerContext`, `processBrokerChange` (of brokers
that bounced).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.zookeeper import Node
from kafkalite.stores import znodes
from kafkalite.types import BrokerId


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

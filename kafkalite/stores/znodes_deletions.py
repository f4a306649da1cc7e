"""Topics on their way out. Their names and znodes stay until no broker keeps a replica.

    the wish    /admin/delete_topics/T, of a tool, of a Kafka, or of the controller
    begun       every state is without a leader, since that wish: brokers have the topic no more
    done        settings, states, assignment and wish are removed

Source: Kafka's `TopicDeletionManager`, and moments 7 and 8 of the golden data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.ports.zookeeper import Create, Delete, Node, Operation, SetData
from kafkalite.stores import znodes
from kafkalite.stores.znodes import StateNode, TopicNode
from kafkalite.types import NO_LEADER, ZERO_UUID, ControllerEpoch, LeaderEpoch


def has_begun(
    name: str,
    topic: TopicNode,
    nodes: Mapping[str, Node],
    state_of: Callable[[str], StateNode | None],
) -> bool:
    """Whether a controller has begun it. One that finds no leader to elect leaves no leader either:
    but then the state is older than the wish. A partition without a state never had a leader."""
    wish = nodes.get(wish_path(name))
    if wish is None:
        return False
    for index in range(len(topic.partitions)):
        path = znodes.state_path(name, index)
        state = state_of(path)
        if state is None:
            continue
        if state.leader != NO_LEADER or nodes[path].stat.mzxid < wish.stat.czxid:
            return False
    return True


def wish_path(topic: str) -> str:
    """Of the wish to delete it."""
    return f"{znodes.DELETE_TOPICS}/{topic}"


def begun(name: str, topic: TopicNode) -> TopicImage:
    """What is still to be removed: who has replicas. The id is `ZERO_UUID` where there is none."""
    partitions = (
        PartitionImage(each.replicas, (), NO_LEADER, LeaderEpoch(0), 0) for each in topic.partitions
    )
    return TopicImage(name, topic.id or ZERO_UUID, tuple(partitions))


def begin(
    name: str,
    topic: TopicNode,
    nodes: Mapping[str, Node],
    state_of: Callable[[str], StateNode | None],
    epoch: ControllerEpoch,
) -> Iterator[Operation]:
    """The wish, if nobody wrote it, and states without a leader, in a new leader epoch."""
    if wish_path(name) not in nodes:
        yield Create(wish_path(name))
    for index in range(len(topic.partitions)):
        path = znodes.state_path(name, index)
        state = state_of(path)
        if state is not None:
            left = state._replace(
                leader=NO_LEADER,
                leader_epoch=LeaderEpoch(state.leader_epoch + 1),
                controller_epoch=epoch,
            )
            yield SetData(path, znodes.write_state(left), nodes[path].stat.version)


def finish(
    name: str, topic: TopicNode, nodes: Mapping[str, Node], folders: frozenset[str] | None
) -> Iterator[Operation]:
    """All of it goes. `folders`: above states that are not there; None: there is no folder of
    partitions at all, if no state is there."""
    config = f"{znodes.CONFIG}/topics/{name}"
    if config in nodes:
        yield Delete(config)
    has_states = False
    for index in range(len(topic.partitions)):
        state = znodes.state_path(name, index)
        if state in nodes:
            has_states = True
            yield Delete(state)
        if state in nodes or str(index) in (folders or ()):
            yield Delete(znodes.partition_path(name, index))
    if has_states or folders is not None:
        yield Delete(znodes.partitions_path(name))
    yield Delete(znodes.topic_path(name))
    yield Delete(wish_path(name))

"""What a controller tells of partitions, and when it counts."""

from __future__ import annotations

from kafkalite.ports.zookeeper import Node, Stat
from kafkalite.stores import znodes
from kafkalite.stores.told_states import ToldState, ToldStates
from kafkalite.stores.znodes import Assignment, StateNode, TopicNode
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid

TOPIC_ID = Uuid(bytes(15) + b"\x01")
REPLICAS = (BrokerId(1), BrokerId(2))
PATH = znodes.state_path("t", 0)


def state(leader: int) -> StateNode:
    return StateNode(BrokerId(leader), LeaderEpoch(leader), REPLICAS, ControllerEpoch(1))


def told(leader: int, partition_epoch: int, topic_id: Uuid = TOPIC_ID) -> ToldState:
    return ToldState(topic_id, 0, state(leader), partition_epoch)


class Reader:
    """Reads, and is told. By the first state broker 1 leads."""

    def __init__(self) -> None:
        self.view = ZnodesView()
        self.folds = 0
        self.told = ToldStates(self.view, self.fold)
        topic = znodes.write_topic(TopicNode(TOPIC_ID, (Assignment(REPLICAS),)))
        self.view.put(znodes.topic_path("t"), Node(topic, Stat(5, 5, 5, 0, 0)))
        self.reads(1, version=0, zxid=6)
        self.folds = 0

    def fold(self) -> None:
        self.folds += 1
        self.view.refresh()

    def reads(self, leader: int, version: int, zxid: int) -> None:
        """All there is."""
        self.view.put(PATH, Node(znodes.write_state(state(leader)), Stat(6, zxid, 6, version, 0)))
        self.told.read()
        self.fold()

    @property
    def leader(self) -> int:
        return self.view.image.topics["t"].partitions[0].leader


def test_while_it_can_be_read_nothing_counts_that_is_told() -> None:
    reader = Reader()
    reader.told.tell([told(2, 1)])
    assert (reader.leader, reader.folds) == (1, 0)
    reader.told.read()
    reader.fold()
    assert reader.leader == 1


def test_what_was_told_and_not_read_counts_when_the_connection_is_lost() -> None:
    reader = Reader()
    reader.told.tell([told(2, 1)])
    reader.told.disconnected()
    assert (reader.leader, reader.folds) == (2, 1)
    partition = reader.view.image.topics["t"].partitions[0]
    assert (partition.leader_epoch, partition.partition_epoch, partition.isr) == (2, 1, REPLICAS)


def test_what_is_told_while_there_is_none_counts_at_once() -> None:
    reader = Reader()
    reader.told.disconnected()
    assert reader.folds == 0, "nothing is new"
    reader.told.tell([told(2, 1)])
    assert (reader.leader, reader.folds) == (2, 1)
    reader.told.tell([told(2, 1)])
    assert reader.folds == 1


def test_the_newest_counts_in_whatever_order_they_come() -> None:
    reader = Reader()
    reader.told.tell([told(2, 2), told(1, 1)])
    reader.told.disconnected()
    reader.told.tell([told(1, 1)])
    assert reader.leader == 2
    assert reader.view.image.topics["t"].partitions[0].partition_epoch == 2


def test_what_was_read_is_no_news() -> None:
    reader = Reader()
    reader.told.tell([told(2, 1)])
    reader.reads(2, version=1, zxid=7)
    reader.reads(1, version=2, zxid=8)
    reader.told.disconnected()
    assert reader.leader == 1


def test_a_server_that_lags_behind_takes_nothing_back() -> None:
    reader = Reader()
    reader.told.disconnected()
    reader.told.tell([told(2, 1)])
    reader.reads(1, version=0, zxid=6)
    assert reader.leader == 2, "as it was, and not what is older"
    reader.reads(2, version=1, zxid=7)
    assert reader.leader == 2
    reader.told.tell([told(1, 2)])
    assert reader.leader == 2, "it can be read again"
    reader.reads(1, version=2, zxid=8)
    assert reader.leader == 1


def test_a_topic_of_which_nothing_was_read_waits() -> None:
    reader = Reader()
    reader.told.disconnected()
    reader.told.tell([told(2, 1, Uuid(bytes(15) + b"\x02"))])
    assert (reader.leader, reader.folds) == (1, 0)


def test_a_topic_that_is_gone_is_forgotten() -> None:
    reader = Reader()
    reader.told.tell([told(2, 1)])
    reader.view.drop_topic("t")
    reader.fold()
    reader.told.disconnected()
    assert "t" not in reader.view.image.topics

"""What others wrote is told once, and what is gone is not remembered for ever."""

from __future__ import annotations

from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Node, Stat
from kafkalite.stores import znodes
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.types import BrokerId, Uuid


def written(zxid: int) -> Node:
    """A topic of one partition that a tool has assigned."""
    topic = znodes.TopicNode(Uuid(zxid.to_bytes(16)), (znodes.Assignment((BrokerId(1),)),))
    return Node(znodes.write_topic(topic), Stat(zxid, zxid, 0, 0, 0))


def test_topics_that_come_and_go_are_told_once_and_forgotten() -> None:
    view = ZnodesView()
    edits = ForeignEdits(view, SeededEntropy(1))
    for number in range(1, 1_000):
        path = znodes.topic_path(f"t{number}")
        view.put(path, written(number))
        view.refresh()
        assert [getattr(edit, "name", None) for edit in edits.news()] == [f"t{number}"]
        assert list(edits.news()) == []
        view.put(path, None)
        view.refresh()
    assert len(edits._told) <= 101

"""What others wrote is told once, and what is gone is not remembered for ever."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.metadata.image import PartitionImage
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Node, Stat
from kafkalite.stores import znodes
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_edits import ForeignEdits
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid


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


@pytest.mark.parametrize("reader", [1, 2], ids=["led by who is not registered", "led by another"])
def test_a_topic_that_grows_state_by_state_is_not_made_anew_for_each(
    monkeypatch: pytest.MonkeyPatch, reader: int
) -> None:
    """As a commit of several transactions has it, or states that are read one after the other."""
    count = 50
    view, made, partition = ZnodesView(BrokerId(reader)), [], ZnodesView._partition

    def counted(self: ZnodesView, name: str, index: int, *rest: Any) -> PartitionImage | None:
        # Any: whatever else it takes.
        made.append(index)
        return partition(self, name, index, *rest)

    monkeypatch.setattr(ZnodesView, "_partition", counted)
    ids = (BrokerId(1),)
    node = znodes.TopicNode(Uuid(bytes(16)), (znodes.Assignment(ids),) * count)
    view.put(znodes.topic_path("t"), Node(znodes.write_topic(node), Stat(1, 1, 0, 0, 0)))
    state = znodes.write_state(
        znodes.StateNode(BrokerId(1), LeaderEpoch(0), ids, ControllerEpoch(1))
    )
    for index in range(count):
        view.put(znodes.state_path("t", index), Node(state, Stat(2, 2, 0, 0, 0)))
        view.refresh()
        assert len(view.image.topics["t"].partitions) == index + 1
    assert len(made) <= 3 * count

"""What a new controller does, in the order of Kafka's `KafkaController.onControllerFailover`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.ports.zookeeper import Create, Operation, ZooKeeperEvent, ZooKeeperSession
from kafkalite.protocol.messages.metadata_records import RemoveTopicRecord
from kafkalite.stores import znodes
from kafkalite.types import BrokerId, TopicPartition
from tests.metadata.sample_changes import partition, topic, uuid
from tests.stores.zookeeper_cluster import Cluster, Member


class Diary:
    """All that a broker asks of ZooKeeper, and what comes of it, in its order."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.lines: list[str] = []

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        session: Any = self._cluster.zookeeper.open_session(listener)  # Any: its methods are set.
        for name in ("get", "children", "multi"):
            setattr(session, name, self._noted(name, getattr(session, name)))
        found: ZooKeeperSession = session
        return found

    def _noted(self, name: str, method: Callable[..., None]) -> Callable[..., None]:
        def noted(what: str | Sequence[Operation], *words: object, **options: object) -> None:
            if isinstance(what, str):
                self.lines.append(f"watch {what}" if options.get("watch") else f"look {what}")
            else:
                self.lines.append(f"write {' '.join(each.path for each in what)}")
            method(what, *words, **options)

        return noted

    def folded(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.lines.append(f"fold, led by {image.controller_id}, of {' '.join(image.topics)}")

    def stop(self, topic: TopicImage, on_stopped: Callable[[], None]) -> None:
        self.lines.append(f"stop {topic.name}")

    def follow(self, *lines: str) -> None:
        """They are there, in this order."""
        rest = iter(self.lines)
        for line in lines:
            assert line in rest, f"{line!r} is missing, or too early in {self.lines}"


def test_a_new_controller_goes_through_it_in_kafkas_order() -> None:
    cluster = Cluster()
    one = Member(cluster, 1, candidate=False)
    one.store.stop = lambda topic, on_stopped: None
    one.session.run_for_controller()
    cluster.turns.drain()
    one.commit(topic("t", 1), partition(1, 0, [1, 2]))
    one.commit(topic("going", 2), partition(2, 0, [2]))
    one.commit(RemoveTopicRecord(topic_id=uuid(2)))
    diary = Diary(cluster)
    two = Member(cluster, 2, candidate=False, zookeeper=diary, heard=diary.lines)
    two.store.stop = diary.stop
    two.session.watch(diary.folded)
    two.session.run_for_controller()
    cluster.turns.drain()
    where = TopicPartition("t", 0)
    diary.lines.clear()
    wanted = znodes.write_reassignments([(where, (BrokerId(2),))])
    one.session.resign()  # So that it does not act on the wish.
    cluster.hand.multi([Create(znodes.REASSIGN, wanted)], lambda done: None)
    cluster.turns.drain()
    diary.follow(
        f"write {znodes.CONTROLLER} {znodes.CONTROLLER_EPOCH}",
        f"watch {znodes.REASSIGN}",
        f"watch {znodes.PREFERRED_ELECTION}",
        f"watch {znodes.TOPICS}",
        f"watch {znodes.DELETE_TOPICS}",
        f"watch {znodes.BROKER_IDS}",
        f"watch {znodes.state_path('t', 0)}",
        f"watch {znodes.broker_path(BrokerId(1))}",
        "fold, led by 2, of t",  # By which all brokers are told of their leaders.
        "Elected",
        "ReplicasWanted",
        "stop going",
    )

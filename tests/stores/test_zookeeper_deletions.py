"""Topics are deleted as Kafka's controller does it: first nobody leads, and when all their brokers
have dropped them, the znodes go. Golden moments 6 to 8."""

from __future__ import annotations

import json
from collections.abc import Callable

from kafkalite.metadata.image import TopicImage
from kafkalite.metadata.store import Elected, TopicGone, TopicUnwanted
from kafkalite.ports.zookeeper import Create, Delete
from kafkalite.protocol.messages.metadata_records import RemoveTopicRecord
from kafkalite.stores import znodes
from kafkalite.types import NO_LEADER, BrokerId, parse_uuid
from tests.metadata.sample_changes import partition, setting, topic, uuid
from tests.stores.golden_znodes import moment
from tests.stores.zookeeper_cluster import Cluster, Member

CFG_ID = parse_uuid("MMJZvQvoTFCricZj_E7NKg")
WISH = "/admin/delete_topics/t"


class Holders:
    """Brokers with replicas, which say when the test says so that they keep none."""

    def __init__(self) -> None:
        self.asked: list[TopicImage] = []
        self._answers: list[Callable[[], None]] = []

    def stop(self, topic: TopicImage, on_stopped: Callable[[], None]) -> None:
        self.asked.append(topic)
        self._answers.append(on_stopped)

    def answer(self) -> None:
        answers, self._answers = self._answers, []
        for answer in answers:
            answer()

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.asked]


def controller(cluster: Cluster, id: int = 1) -> tuple[Member, Holders]:
    one, holders = Member(cluster, id, candidate=False), Holders()
    one.store.stop = holders.stop
    one.session.run_for_controller()
    cluster.turns.drain()
    return one, holders


def below(cluster: Cluster, *paths: str) -> list[str]:
    return [path for path in paths if cluster.node(path) is not None]


ALL_OF_IT = (
    "/brokers/topics/t",
    "/brokers/topics/t/partitions",
    "/brokers/topics/t/partitions/0",
    "/brokers/topics/t/partitions/0/state",
    "/config/topics/t",
    WISH,
)


def test_the_golden_moments_of_a_deletion(cluster: Cluster) -> None:
    before, begun = moment("6-controller-killed"), moment("7-topic-deleted")
    cluster.write(Delete(znodes.CLUSTER_ID))
    nodes = {path: node.data for path, node in before.items()}
    cluster.fill({p: d for p, d in nodes.items() if p not in ("/", znodes.CONTROLLER)})
    one, holders = controller(cluster, 7)
    one.commit(RemoveTopicRecord(topic_id=CFG_ID))
    assert "cfg" not in one.image.topics
    cfg = [path for path in begun if "cfg" in path]
    assert "/admin/delete_topics/cfg" in cfg
    for path in cfg:
        wanted = begun[path].data
        if path.endswith("/state"):
            assert wanted is not None
            wanted = znodes.write_state(znodes.read_state(wanted)._replace(controller_epoch=3))  # type: ignore[arg-type]  # One more than the golden one.
        assert cluster.data(path) == wanted, path
    assert holders.names == ["cfg"]
    assert [each.replicas for each in holders.asked[0].partitions] == [(1,), (2,), (0,)]
    one.news()
    holders.answer()
    cluster.turns.drain()
    assert below(cluster, *cfg) == []
    assert not any("cfg" in path for path in moment("8-controller-back"))
    assert one.news() == [TopicGone("cfg")]


def test_who_comes_meanwhile_hears_that_it_is_deleted(cluster: Cluster) -> None:
    one, _ = controller(cluster)
    one.commit(topic("t", 1), partition(1, 0, [1, 2]), setting(2, "t", "retention.ms", "5"))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    assert below(cluster, *ALL_OF_IT) == list(ALL_OF_IT)
    assert [each.name for each in one.deltas[-1].deleted] == ["t"]
    assert one.image.configs == {}, "nobody has settings of it any more"
    two = Member(cluster, 2)
    assert two.image.topics == {}
    (gone,) = two.deltas[0].deleted
    assert (gone.name, gone.id, gone.partitions[0].replicas) == ("t", uuid(1), (1, 2))


def test_the_next_controller_goes_on(cluster: Cluster) -> None:
    one, _ = controller(cluster)
    one.commit(topic("t", 1), partition(1, 0, [1, 2]))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    two, holders = controller(cluster, 2)
    one.session.close()
    cluster.turns.drain()
    loaded: list[tuple[str, ...]] = []
    two.session.load(lambda found: loaded.append(found.going))
    assert loaded == [("t",)]
    assert holders.names == ["t"]
    assert any(isinstance(event, Elected) for event in two.news())
    holders.answer()
    cluster.turns.drain()
    assert below(cluster, *ALL_OF_IT) == []
    assert two.news() == [TopicGone("t")]


def test_a_wish_alone_deletes_nothing(cluster: Cluster) -> None:
    """Nobody leads, and a tool wants it gone: no controller has said so yet."""
    one, holders = controller(cluster)
    one.commit(topic("t", 1), partition(1, 0, [3], leader=NO_LEADER))
    one.news()
    cluster.write(Create(WISH))
    assert one.news() == [TopicUnwanted("t")]
    assert list(one.image.topics) == ["t"]
    assert holders.names == []
    one.heard.append(Elected(one.image.epoch))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    assert one.image.topics == {}
    assert holders.names == ["t"]


def test_what_was_never_led_goes_as_well(cluster: Cluster) -> None:
    one, holders = controller(cluster)
    one.news()
    cluster.write(
        Create(WISH), Create("/brokers/topics/t", b'{"version":1,"partitions":{"0":[3]}}')
    )
    holders.answer()
    cluster.turns.drain()
    assert below(cluster, *ALL_OF_IT) == []
    assert one.news() == [TopicGone("t")]
    assert Member(cluster, 2).deltas[0].deleted == ()


def test_what_cannot_be_removed_is_removed_later(cluster: Cluster) -> None:
    one, holders = controller(cluster)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    cluster.write(Create("/brokers/topics/t/partitions/0/strange"))
    holders.answer()
    cluster.turns.drain()
    assert below(cluster, *ALL_OF_IT) == list(ALL_OF_IT), "all or nothing"
    cluster.write(Delete("/brokers/topics/t/partitions/0/strange"))
    one.commit(topic("other", 2), partition(2, 0, [1]))
    assert below(cluster, *ALL_OF_IT) == []
    assert holders.names == ["t"], "it was asked once"


def test_somebody_removes_it_by_hand_while_the_last_broker_answers(cluster: Cluster) -> None:
    """Whenever the answer comes: before all of that was read too."""
    for turns in range(40):
        one, holders = controller(cluster, 10 + turns)
        one.commit(topic("t", turns + 1), partition(turns + 1, 0, [1]))
        one.commit(RemoveTopicRecord(topic_id=uuid(turns + 1)))
        there = below(cluster, *ALL_OF_IT)
        cluster.hand.multi([Delete(path) for path in reversed(there)], lambda done: None)
        cluster.turns.some(turns)
        holders.answer()
        cluster.turns.drain()
        assert below(cluster, *ALL_OF_IT) == []
        assert one.news()[-1] == TopicGone("t")
        one.session.close()
        cluster.turns.drain()


def test_one_that_stopped_amid_is_finished(cluster: Cluster) -> None:
    """As of a large topic, of which several transactions are needed."""
    one, holders = controller(cluster)
    one.commit(topic("t", 1), *(partition(1, index, [1]) for index in range(2)))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    first = znodes.partition_path("t", 0)
    cluster.write(Delete(f"{first}/state"), Delete(first))
    holders.answer()
    cluster.turns.drain()
    assert below(cluster, *ALL_OF_IT) == []


def test_a_topic_of_that_name_can_come_again_and_go(cluster: Cluster) -> None:
    one, holders = controller(cluster)
    for number in (1, 2):
        one.commit(topic("t", number), partition(number, 0, [1]))
        assert list(one.image.topics) == ["t"]
        one.commit(RemoveTopicRecord(topic_id=uuid(number)))
        holders.answer()
        cluster.turns.drain()
        assert below(cluster, *ALL_OF_IT) == []
    assert holders.names == ["t", "t"]


def test_states_without_a_leader_are_written_once_more(cluster: Cluster) -> None:
    """So that they are younger than the wish, as with Kafka's controller."""
    one, _ = controller(cluster)
    one.commit(topic("t", 1), partition(1, 0, [3], leader=NO_LEADER, leader_epoch=4))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    state = json.loads(cluster.data(ALL_OF_IT[3]) or b"")
    assert (state["leader"], state["leader_epoch"], state["isr"]) == (-1, 5, [3])
    assert one.image.brokers.get(BrokerId(3)) is None

"""What others write over ZooKeeper, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.metadata.store import (
    CommitResult,
    Committed,
    ConfigsEdited,
    Elected,
    LeadersWanted,
    ReplicasWanted,
    TopicAssigned,
    TopicUnwanted,
)
from kafkalite.ports.zookeeper import Create, SetData
from kafkalite.stores import znodes
from kafkalite.types import (
    BrokerId,
    TopicPartition,
)
from tests.metadata.sample_changes import changed, partition, setting, topic, uuid
from tests.stores.zookeeper_cluster import Cluster, Member


def test_a_topic_of_an_old_tool_gets_id_and_leaders(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.news()
    cluster.write(
        Create("/config/topics/old", b'{"version":1,"config":{"retention.ms":"5"}}'),
        Create("/brokers/topics/old", b'{"version":1,"partitions":{"0":[1]}}'),
    )
    (found,) = one.news()
    assert isinstance(found, TopicAssigned)
    assert found._replace(fresh_id=uuid(0)) == TopicAssigned(
        "old", uuid(0), ((BrokerId(1),),), 0, (("retention.ms", "5"),)
    )
    assert one.image.topics == {}
    one.heard.append(Elected(one.image.epoch))
    one.commit(topic("old", 1), partition(1, 0, [1]), setting(2, "old", "retention.ms", "5"))
    assert one.image.topics["old"].id == uuid(1)
    assert znodes.read_topic(cluster.data("/brokers/topics/old")).id == uuid(1)
    cluster.write(SetData("/brokers/topics/old", b'{"version":1,"partitions":{"0":[1],"1":[1]}}'))
    assert one.image.topics["old"].id == uuid(1), "an old tool does not know of ids"
    found = one.news()[-1]
    assert found == TopicAssigned(
        "old", uuid(1), ((BrokerId(1),),) * 2, 1, (("retention.ms", "5"),)
    )
    one.heard.append(Elected(one.image.epoch))
    one.commit(partition(1, 1, [1]))
    assert znodes.read_topic(cluster.data("/brokers/topics/old")).id == uuid(1)


def test_partitions_that_a_tool_adds_stay_while_the_controller_writes_others(
    cluster: Cluster,
) -> None:
    """It has heard of them, and decided something else before."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    path = "/brokers/topics/t"
    assigned = [znodes.Assignment((BrokerId(id),)) for id in (1, 2, 3)]
    cluster.write(SetData(path, znodes.write_topic(znodes.TopicNode(uuid(1), tuple(assigned)))))
    written = cluster.node(path)
    one.commit(changed(uuid(1), 0, leader=-1))
    assert cluster.node(path) == written, "nothing of it has changed"
    one.commit(changed(uuid(1), 0, replicas=[1, 2], adding_replicas=[2]))
    assigned[0] = znodes.Assignment((BrokerId(1), BrokerId(2)), (BrokerId(2),))
    assert znodes.read_topic(cluster.data(path)).partitions == tuple(assigned)
    one.commit(partition(1, 1, [2]), partition(1, 2, [3]))
    assert znodes.read_topic(cluster.data(path)).partitions == tuple(assigned)
    assert len(one.image.topics["t"].partitions) == 3


def test_an_id_that_an_old_tool_dropped_is_written_again(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    cluster.write(SetData("/brokers/topics/t", b'{"version":1,"partitions":{"0":[1]}}'))
    assert znodes.read_topic(cluster.data("/brokers/topics/t")).id == uuid(1)


def test_wishes_of_tools_are_told_once(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    where = TopicPartition("t", 0)
    one.news()
    cluster.write(
        Create(
            znodes.PREFERRED_ELECTION, b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
        )
    )
    assert one.news() == [LeadersWanted((where,))]
    assert cluster.node(znodes.PREFERRED_ELECTION) is None
    cluster.write(Create("/admin/delete_topics/t"), Create("/admin/delete_topics/none"))
    assert one.news() == [TopicUnwanted("t")]
    assert cluster.node("/admin/delete_topics/none") is None
    assert cluster.node("/admin/delete_topics/t") is not None


def test_a_wish_stays_until_what_it_leads_to_is_done(cluster: Cluster) -> None:
    """The controller may die meanwhile: the next one is asked again."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1, 2], leader=2))
    session: Any = one.session._zookeeper  # Any: its method is set.
    multi, held = session.multi, []
    session.multi = lambda *words: held.append(words)
    term = one.image.epoch
    one.act = lambda event: one.session.commit(
        term, (changed(uuid(1), 0, leader=1),), lambda result: None
    )
    wish = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    cluster.write(Create(znodes.PREFERRED_ELECTION, wish))
    assert len(held) == 1
    assert cluster.node(znodes.PREFERRED_ELECTION) is not None
    session.multi = multi
    multi(*held[0])
    cluster.turns.drain()
    assert one.image.topics["t"].partitions[0].leader == 1
    assert cluster.node(znodes.PREFERRED_ELECTION) is None


def test_a_wish_stays_while_the_controller_waits_for_others_to_fold(cluster: Cluster) -> None:
    """It decides on nothing until they have."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    waiting: list[Callable[[], None]] = []
    one.store.spread = waiting.append
    answers: list[CommitResult] = []
    one.session.commit(one.image.epoch, (changed(uuid(1), 0, leader=-1),), answers.append)
    cluster.write(Create(znodes.PREFERRED_ELECTION, b'{"version":1,"partitions":[]}'))
    assert answers == []
    assert cluster.node(znodes.PREFERRED_ELECTION) is not None
    (told,) = waiting
    told()
    cluster.turns.drain()
    assert isinstance(answers[0], Committed)
    assert cluster.node(znodes.PREFERRED_ELECTION) is None


def test_a_wish_goes_behind_a_commit_of_nothing_too(cluster: Cluster) -> None:
    """Nothing else would be read after it, so that tools would see it for ever."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    session: Any = one.session._zookeeper  # Any: its method is set.
    multi, held = session.multi, []
    session.multi = lambda *words: held.append(words)
    one.session.commit(one.image.epoch, (), lambda result: None)
    cluster.write(Create(znodes.PREFERRED_ELECTION, b'{"version":1,"partitions":[]}'))
    session.multi = multi
    multi(*held[0])
    cluster.turns.drain()
    assert cluster.node(znodes.PREFERRED_ELECTION) is None


def test_wishes_to_delete_go_where_that_is_not_allowed(cluster: Cluster) -> None:
    one = Member(cluster, 1, candidate=False)
    one.store.deletes_topics = False
    one.session.run_for_controller()
    cluster.turns.drain()
    one.commit(topic("t", 1), partition(1, 0, [1]))
    one.news()
    cluster.write(Create("/admin/delete_topics/t"))
    assert one.news() == []
    assert cluster.node("/admin/delete_topics/t") is None
    assert list(one.image.topics) == ["t"]


def test_a_move_is_asked_for_until_it_is_done(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    where, to = TopicPartition("t", 0), (BrokerId(2),)
    one.news()
    cluster.write(Create(znodes.REASSIGN, znodes.write_reassignments([(where, to)])))
    assert one.news() == [ReplicasWanted(((where, to),))]
    assert cluster.node(znodes.REASSIGN) is not None
    one.heard.append(Elected(one.image.epoch))
    one.commit(changed(uuid(1), 0, replicas=[1, 2], adding_replicas=[2], removing_replicas=[1]))
    assert json.loads(cluster.data("/brokers/topics/t") or b"")["adding_replicas"] == {"0": [2]}
    assert cluster.node(znodes.REASSIGN) is not None
    one.commit(changed(uuid(1), 0, replicas=[2], isr=[2], adding_replicas=[], removing_replicas=[]))
    assert cluster.node(znodes.REASSIGN) is None


def test_a_replica_is_asked_for_until_it_has_come(cluster: Cluster) -> None:
    """The replicas are those that were asked for while it is still on its way."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    wish = znodes.write_reassignments([(TopicPartition("t", 0), (BrokerId(1), BrokerId(2)))])
    cluster.write(Create(znodes.REASSIGN, wish))
    one.commit(changed(uuid(1), 0, replicas=[1, 2], adding_replicas=[2]))
    assert cluster.node(znodes.REASSIGN) is not None
    one.commit(changed(uuid(1), 0, isr=[1, 2], adding_replicas=[]))
    assert cluster.node(znodes.REASSIGN) is None


def test_settings_of_others_are_told(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    one.news()
    cluster.write(
        SetData("/config/topics/t", b'{"version":1,"config":{"retention.ms":"9"}}'),
        Create(znodes.CONFIG_CHANGE, b'{"version":2,"entity_path":"topics/t"}', sequential=True),
    )
    (edited,) = one.news()
    assert isinstance(edited, ConfigsEdited)
    assert edited.resource == ConfigResource(ConfigResourceType.TOPIC, "t")
    assert edited.newest() == {"retention.ms": "9"}
    assert two.image.topic_config("t") == {"retention.ms": "9"}
    assert two.news() == [], "only the controller acts on it"


def test_of_what_the_controller_has_set_it_is_not_told(cluster: Cluster) -> None:
    """Else it would decide on it a second time."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    one.commit(setting(2, "t", "retention.ms", "9"))
    assert one.image.topic_config("t") == {"retention.ms": "9"}
    assert not [event for event in one.heard if isinstance(event, ConfigsEdited)]


def test_a_failed_log_folder_is_told_to_the_controller(cluster: Cluster) -> None:
    one, two = (Member(cluster, id, candidate=False) for id in (1, 2))
    failed: list[int] = []
    one.store.on_folder_failed = failed.append
    one.session.run_for_controller()
    cluster.turns.drain()
    assert failed == [1], "its own may have failed before it was the controller"
    two.session.folder_failed()
    cluster.turns.drain()
    assert failed == [1, 2]
    assert cluster.hand_children(znodes.FOLDER_EVENTS) == (), "it is done with"
    one.session.resign()
    cluster.zookeeper.disconnect(two.session._zookeeper.id)
    two.session.folder_failed()
    cluster.turns.drain()
    cluster.zookeeper.reconnect(two.session._zookeeper.id)
    cluster.turns.drain()
    (name,) = cluster.hand_children(znodes.FOLDER_EVENTS)
    event = cluster.data(f"{znodes.FOLDER_EVENTS}/{name}")
    assert (name[:14], event) == ("log_dir_event_", b'{"version":1,"broker":2,"event":1}')

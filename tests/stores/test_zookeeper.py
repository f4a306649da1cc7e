"""What the store over ZooKeeper does beyond the contract (`tests/metadata/test_store.py`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.metadata.store import (
    BrokerLeft,
    CommitFailed,
    CommitFailure,
    Committed,
    ConfigsEdited,
    Deposed,
    Elected,
    LeadersWanted,
    ReplicasWanted,
    SessionLost,
    TopicAssigned,
    TopicUnwanted,
)
from kafkalite.ports.zookeeper import Create, Delete, Failure, Operation, Refused, SetData
from kafkalite.protocol.messages.metadata_records import (
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper_edits import MOST_NOTIFICATIONS
from kafkalite.types import (
    NO_BROKER_EPOCH,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ProducerId,
    TopicPartition,
    Uuid,
    parse_uuid,
)
from tests.metadata.sample_changes import partition, setting, topic, uuid
from tests.stores.golden_znodes import MOMENTS, moment
from tests.stores.zookeeper_cluster import Cluster, Member

GOLDEN_TOPIC = "my-replicated-topic"
GOLDEN_ID = parse_uuid("eG9K_sy4QM-IiyNCJcNJqQ")
CFG_ID = parse_uuid("MMJZvQvoTFCricZj_E7NKg")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def golden(name: str) -> Cluster:
    """An ensemble as the golden one was at that moment, its brokers gone but for their names."""
    cluster = Cluster()
    cluster.write(Delete(znodes.CLUSTER_ID))
    cluster.fill(
        {
            path: node.data
            for path, node in moment(name).items()
            if path != "/" and path != znodes.CONTROLLER
        }
    )
    return cluster


def changed(id: Uuid, index: int, **fields: object) -> PartitionChangeRecord:
    change = PartitionChangeRecord(partition_id=index, topic_id=id)
    for name, value in fields.items():
        setattr(change, name, value)
    return change


def same(cluster: Cluster, name: str, *topics: str) -> None:
    """Their znodes are those of the golden moment, byte by byte."""
    wanted = moment(name)
    paths = [p for p in wanted if any(f"/{each}" in p for each in topics)]
    assert paths
    for path in paths:
        assert cluster.data(path) == wanted[path].data, path


@pytest.mark.parametrize("name", MOMENTS)
def test_a_golden_moment_is_read_as_it_was(name: str) -> None:
    one = Member(golden(name), 7)
    image, nodes = one.image, moment(name)
    topics = {path.split("/")[3] for path in nodes if path.startswith(f"{znodes.TOPICS}/")}
    deleted = {name for name in topics if f"{znodes.DELETE_TOPICS}/{name}" in nodes}
    assert set(image.topics) == topics - deleted
    assert {each.name for each in one.deltas[0].deleted} == deleted
    assert deleted == ({"cfg"} if name == "7-topic-deleted" else set())
    for index, each in enumerate(image.topics[GOLDEN_TOPIC].partitions):
        data = nodes[znodes.state_path(GOLDEN_TOPIC, index)].data
        assert data is not None
        state = json.loads(data)
        assert [each.leader, list(each.isr)] == [state["leader"], state["isr"]]
        assert each.leader_epoch == state["leader_epoch"]
    assert image.topic_config("__consumer_offsets")["cleanup.policy"] == "compact"
    brokers = {int(path[13:]) for path in nodes if path.startswith(f"{znodes.BROKER_IDS}/")}
    assert set(image.brokers) == brokers | {7}
    epoch = nodes[znodes.CONTROLLER_EPOCH].data
    assert epoch is not None
    assert image.epoch == int(epoch) + 1, "and one more for the election of this one"


def test_topics_stand_as_in_the_golden_moments(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(
        TopicRecord(name=GOLDEN_TOPIC, topic_id=GOLDEN_ID),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=GOLDEN_ID,
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
            for index, replicas in enumerate(([0, 2, 1], [2, 1, 0], [1, 0, 2]))
        ),
    )
    same(cluster, "1-three-brokers-up", GOLDEN_TOPIC)
    assert {p.partition_epoch for p in one.image.topics[GOLDEN_TOPIC].partitions} == {0}
    one.commit(
        changed(GOLDEN_ID, 0, isr=[0, 2], leader=0),
        changed(GOLDEN_ID, 1, isr=[2, 0], leader=2),
        changed(GOLDEN_ID, 2, isr=[0, 2], leader=0),
    )
    same(cluster, "3-broker-1-killed", GOLDEN_TOPIC)
    one.commit(
        changed(GOLDEN_ID, 0, isr=[0, 2, 1]),
        changed(GOLDEN_ID, 1, isr=[2, 0, 1]),
        changed(GOLDEN_ID, 2, isr=[0, 2, 1]),
    )
    same(cluster, "4-broker-1-back", GOLDEN_TOPIC)
    one.commit(changed(GOLDEN_ID, 2, leader=1))
    same(cluster, "5-preferred-election", GOLDEN_TOPIC)
    state = cluster.node(znodes.state_path(GOLDEN_TOPIC, 2))
    assert state is not None
    assert (
        state.stat.version
        == moment("5-preferred-election")[znodes.state_path(GOLDEN_TOPIC, 2)].version
        == one.image.topics[GOLDEN_TOPIC].partitions[2].partition_epoch
    )


def test_a_deleted_topic_leaves_nothing(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(
        topic("cfg", 1), partition(1, 0, [1]), setting(2, "cfg", "cleanup.policy", "compact")
    )
    assert cluster.data("/config/topics/cfg") == moment(MOMENTS[0])["/config/topics/cfg"].data
    cluster.write(Create("/admin/delete_topics/cfg"))
    one.commit(RemoveTopicRecord(topic_id=uuid(1)))
    for path in (
        "/brokers/topics/cfg",
        "/config/topics/cfg",
        "/admin/delete_topics/cfg",
        "/config/changes/config_change_0000000000",
    ):
        assert cluster.node(path) is None
    assert one.image.topics == {}
    assert one.image.configs == {}


def test_settings_are_notified(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    one.commit(setting(4, "", "log.retention.ms", "7"))
    one.commit(setting(32, "group", "consumer.session.timeout.ms", "50000"))
    assert cluster.data("/config/brokers/<default>") == (
        b'{"version":1,"config":{"log.retention.ms":"7"}}'
    )
    assert cluster.data("/config/changes/config_change_0000000000") == (
        b'{"version":2,"entity_path":"brokers/<default>"}'
    )
    assert cluster.node("/config/changes/config_change_0000000001") is None
    assert two.image.configs[ConfigResource(4, "")] == {"log.retention.ms": "7"}
    one.commit(setting(4, "", "log.retention.ms", None))
    assert cluster.data("/config/brokers/<default>") == b'{"version":1,"config":{}}'
    assert ConfigResource(4, "") not in two.image.configs


def test_settings_that_stand_there_are_read_at_first(cluster: Cluster) -> None:
    """No notification tells of them: those of one broker, of all, of groups and subscriptions."""
    one = Member(cluster, 1)
    names = {(4, "1"), (4, ""), (32, "g"), (16, "s")}
    one.commit(*(setting(type, name, "key", "value") for type, name in sorted(names)))
    for path in cluster.hand_children(znodes.CONFIG_CHANGES):
        cluster.write(Delete(f"{znodes.CONFIG_CHANGES}/{path}"))
    found = Member(cluster, 2).image.configs
    assert {(each.type, each.name) for each in found} == names
    assert all(values == {"key": "value"} for values in found.values())


def test_old_notifications_go(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    for number in range(MOST_NOTIFICATIONS + 2):
        one.commit(setting(4, "1", "log.retention.ms", str(number)))
    assert cluster.node("/config/changes/config_change_0000000001") is None
    assert cluster.node("/config/changes/config_change_0000000002") is not None


def test_producer_ids_go_on_from_the_last_block(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(ProducerIdsRecord(broker_id=3, broker_epoch=1, next_producer_id=1000))
    one.commit(ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=2000))
    assert cluster.data(znodes.PRODUCER_IDS) == (
        b'{"version":1,"broker":4,"block_start":"1000","block_end":"1999"}'
    )
    assert Member(cluster, 2).image.next_producer_id == 2000


def test_a_large_topic_takes_several_transactions(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    partitions = [partition(1, index, [1, 2, 3]) for index in range(3000)]
    assert isinstance(one.commit(topic("large", 1), *partitions), Committed)
    assert len(two.image.topics["large"].partitions) == 3000


def test_a_commit_that_stopped_amid_is_found_again(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    cluster.fill(
        {
            "/brokers/topics/t": znodes.write_topic(
                znodes.TopicNode(uuid(1), (znodes.Assignment((BrokerId(1),)),) * 2)
            ),
            "/brokers/topics/t/partitions/0/state": b'{"controller_epoch":1,"leader":1,"version":1'
            b',"leader_epoch":0,"isr":[1]}',
        }
    )
    two = Member(cluster, 2)
    one.session.close()
    cluster.turns.drain()
    found = [event for event in two.news() if isinstance(event, TopicAssigned)]
    assert found == [TopicAssigned("t", uuid(1), ((BrokerId(1),),) * 2, 1)]
    two.heard.append(Elected(two.image.epoch))
    assert isinstance(two.commit(partition(1, 1, [1])), Committed)
    assert len(two.image.topics["t"].partitions) == 2


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


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_state_that_another_has_set_ends_the_term(cluster: Cluster, *, is_seen: bool) -> None:
    """What was decided was decided on another one: by the store's broker it may be seen already."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    path = znodes.state_path("t", 0)
    cluster.hand.multi([SetData(path, cluster.data(path))], lambda done: None)
    if is_seen:
        cluster.turns.drain()
        assert one.image.topics["t"].partitions[0].partition_epoch == 1
    refused = one.commit(changed(uuid(1), 0, leader=-1))
    assert refused == CommitFailed(CommitFailure.FENCED, f"the znode has another version ({path})")
    assert one.heard[-1] == Elected(ControllerEpoch(2)), "it reads all anew, in a new term"
    assert isinstance(one.commit(changed(uuid(1), 0, leader=-1)), Committed)


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_block_of_producer_ids_that_another_has_taken_ends_the_term(
    cluster: Cluster, *, is_seen: bool
) -> None:
    """As Kafka's brokers do by themselves with an `inter.broker.protocol.version` below 3.0."""
    one = Member(cluster, 1)
    taken = ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1_000)
    theirs = znodes.write_producer_ids(BrokerId(3), ProducerId(0), ProducerId(999))
    cluster.hand.multi([SetData(znodes.PRODUCER_IDS, theirs)], lambda done: None)
    if is_seen:
        cluster.turns.drain()
        assert one.image.next_producer_id == 1_000
    assert isinstance(one.commit(taken), CommitFailed)
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    assert one.image.next_producer_id == 1_000
    taken.next_producer_id = 2_000
    assert isinstance(one.commit(taken), Committed)
    assert cluster.data(znodes.PRODUCER_IDS) == znodes.write_producer_ids(
        BrokerId(1), ProducerId(1_000), ProducerId(1_999)
    )


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_whose_answer_is_lost_ends_the_term(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, *, is_done: bool
) -> None:
    """Nobody knows what became of it, until everything is read anew."""
    one = Member(cluster, 1)
    session = one.session._zookeeper
    multi = session.multi

    def lose(operations: Sequence[Operation], on_done: Callable[[Refused], None]) -> None:
        monkeypatch.undo()
        if is_done:
            multi(operations, lambda result: None)
        cluster.turns.deliver(lambda: on_done(Refused(Failure.CONNECTION_LOST)))

    monkeypatch.setattr(session, "multi", lose)
    refused = one.commit(topic("t", 1), partition(1, 0, [1]))
    assert isinstance(refused, CommitFailed)
    assert refused.failure is CommitFailure.SESSION_LOST
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    loaded: list[list[str]] = []
    one.session.load(lambda found: loaded.append(list(found.image.topics)))
    assert loaded == [["t"] if is_done else []]


def test_a_topic_that_another_removed_ends_the_term(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.commit(topic("t", 1))
    cluster.write(Delete("/brokers/topics/t/partitions"), Delete("/brokers/topics/t"))
    refused = one.commit(partition(1, 0, [1]))
    assert isinstance(refused, CommitFailed)
    assert one.heard[-1] == Elected(ControllerEpoch(2))
    assert isinstance(one.commit(topic("t", 3)), Committed)


def test_the_epoch_is_a_fence(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    cluster.hand.multi([SetData(znodes.CONTROLLER_EPOCH, b"9")], lambda done: None)
    refused = one.commit(topic("t", 1))
    assert isinstance(refused, CommitFailed)
    assert cluster.node("/brokers/topics/t") is None


def test_a_controller_that_was_removed_runs_again(cluster: Cluster) -> None:
    one = Member(cluster, 1)
    one.news()
    cluster.write(Delete(znodes.CONTROLLER))
    assert one.news() == [Deposed(), Elected(ControllerEpoch(2))]
    assert json.loads(cluster.data(znodes.CONTROLLER) or b"")["brokerid"] == 1
    assert cluster.data(znodes.CONTROLLER_EPOCH) == b"2"


def test_an_epoch_is_not_given_twice(cluster: Cluster) -> None:
    """Who runs has not yet heard that another was elected, and is no more."""
    cluster.write(Create(znodes.CONTROLLER_EPOCH, b"0"))
    one = Member(cluster, 1, candidate=False)
    cluster.hand.multi([SetData(znodes.CONTROLLER_EPOCH, b"1")], lambda done: None)
    one.session.run_for_controller()
    cluster.turns.drain()
    assert [event for event in one.heard if isinstance(event, Elected)] == [
        Elected(ControllerEpoch(2))
    ]
    assert cluster.data(znodes.CONTROLLER_EPOCH) == b"2"


def test_who_died_while_nobody_was_there_is_told_to_the_next_controller(cluster: Cluster) -> None:
    """By what names it: who leads, and who is in sync."""
    one, two, three = (Member(cluster, id) for id in (1, 2, 3))
    one.commit(topic("t", 1), partition(1, 0, [2, 1], isr=[2]), partition(1, 1, [1, 3], isr=[1, 3]))
    for each in (three, two, one):
        each.session.close()
    cluster.turns.drain()
    again = Member(cluster, 1)
    gone = [event for event in again.heard if isinstance(event, BrokerLeft)]
    assert gone == [BrokerLeft(BrokerId(id), NO_BROKER_EPOCH) for id in (2, 3)]


def test_a_connection_that_comes_back_finds_what_it_missed(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2)
    cluster.zookeeper.disconnect(two.session._zookeeper.id)
    one.commit(topic("t", 1), partition(1, 0, [1]))
    assert two.image.topics == {}
    cluster.zookeeper.reconnect(two.session._zookeeper.id)
    cluster.turns.drain()
    assert list(two.image.topics) == ["t"]
    assert two.news() == []


def test_a_broker_waits_for_the_end_of_its_earlier_life(cluster: Cluster) -> None:
    one, first = Member(cluster, 1), Member(cluster, 2)
    epoch = one.image.brokers[BrokerId(2)].epoch
    second = Member(cluster, 2)
    assert not second.store.is_registered(BrokerId(2))
    cluster.zookeeper.expire(first.session._zookeeper.id)
    cluster.turns.drain()
    assert first.heard[-1] == SessionLost()
    assert second.session.is_registered
    assert one.image.brokers[BrokerId(2)].epoch > epoch
    assert BrokerLeft(BrokerId(2), epoch) in one.heard


def test_states_that_a_broker_has_made_itself_are_watched_by_it_too(cluster: Cluster) -> None:
    """Another one may be the controller next, and this one goes on."""
    one = Member(cluster, 1)
    one.commit(topic("t", 1), partition(1, 0, [1, 2]))
    one.commit(partition(1, 1, [1, 2]))
    for index in range(2):
        data = znodes.write_state(
            znodes.StateNode(BrokerId(2), LeaderEpoch(7), (BrokerId(2),), ControllerEpoch(9))
        )
        cluster.write(SetData(znodes.state_path("t", index), data))
        assert one.image.topics["t"].partitions[index].leader_epoch == 7


def test_a_failed_log_folder_is_told_to_the_controller(cluster: Cluster) -> None:
    one, two = Member(cluster, 1), Member(cluster, 2, candidate=False)
    failed: list[int] = []
    one.store.on_folder_failed = failed.append
    two.session.folder_failed()
    cluster.turns.drain()
    assert failed == [2]
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

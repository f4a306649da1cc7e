"""A broker that writes its own settings past the controller, as brokers of Kafka 3.9 do."""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.store import ConfigsEdited
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Create, SetData
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.stores import znodes
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import uuid
from tests.stores.zookeeper_cluster import Cluster, Member

TWO = ConfigResource(ConfigResourceType.BROKER, "2")
PATH = "/config/brokers/2"


class Asking:
    """Broker 2, which is not the controller, is asked to alter its own settings."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.controller = Member(self.cluster, 1)
        self.broker = Member(self.cluster, 2)
        self.answers: list[str | KafkaError] = []
        self.seen: list[dict[str, str]] = []
        """What it decided on."""

    def alter(self, key: str, value: str | None, *, turns: bool = True) -> None:
        def decide(image: MetadataImage) -> tuple[list[Change], str]:
            self.seen.append(dict(image.configs.get(TWO, {})))
            change = ConfigRecord(resource_type=4, resource_name="2", name=key, value=value)
            return [change], f"{key}={value}"

        self.broker.store.alter_own(BrokerId(2), decide, self.answers.append)
        if turns:
            self.cluster.turns.drain()

    @property
    def refusal(self) -> ErrorCode:
        """The last answer."""
        answer = self.answers[-1]
        assert isinstance(answer, KafkaError), answer
        return answer.code

    @property
    def settings(self) -> dict[str, str]:
        return znodes.read_config(self.cluster.data(PATH) or b"")


def test_they_are_written_as_by_a_kafka() -> None:
    asking = Asking()
    asking.controller.news()
    asking.alter("log.retention.ms", "60000")
    assert asking.answers == ["log.retention.ms=60000"]
    config = asking.cluster.data(PATH)
    assert config == b'{"version":1,"config":{"log.retention.ms":"60000"}}'
    (change,) = asking.cluster.hand_children(znodes.CONFIG_CHANGES)
    notification = asking.cluster.data(f"{znodes.CONFIG_CHANGES}/{change}")
    assert notification == b'{"version":2,"entity_path":"brokers/2"}'
    for member in (asking.broker, asking.controller):
        assert member.image.configs[TWO] == {"log.retention.ms": "60000"}
    (edited,) = (each for each in asking.controller.news() if isinstance(each, ConfigsEdited))
    assert (edited.resource, edited.newest()) == (TWO, {"log.retention.ms": "60000"})


def test_they_are_answered_when_this_broker_follows_them() -> None:
    asking = Asking()
    asking.alter("log.retention.ms", "60000", turns=False)
    while not asking.answers:
        asking.cluster.turns.some(1)
    assert asking.broker.image.configs[TWO] == {"log.retention.ms": "60000"}


def test_what_another_has_set_meanwhile_stays() -> None:
    """Even if it has told nobody."""
    asking = Asking()
    asking.alter("background.threads", "5")
    theirs = znodes.write_config({"background.threads": "6"})
    asking.cluster.write(SetData(PATH, theirs))
    asking.alter("log.retention.ms", "60000")
    assert asking.refusal is ErrorCode.NOT_CONTROLLER, "it is asked again"
    assert asking.settings == {"background.threads": "6"}
    asking.alter("log.retention.ms", "60000")
    assert asking.seen[-1] == {"background.threads": "6"}
    assert asking.settings == {"background.threads": "6", "log.retention.ms": "60000"}


def test_so_do_the_first_that_another_has_set() -> None:
    asking = Asking()
    asking.cluster.write(Create(PATH, znodes.write_config({"background.threads": "6"})))
    asking.alter("log.retention.ms", "60000")
    assert asking.refusal is ErrorCode.NOT_CONTROLLER
    asking.alter("log.retention.ms", "60000")
    assert asking.settings == {"background.threads": "6", "log.retention.ms": "60000"}


def test_a_broker_that_is_registered_no_more_alters_nothing() -> None:
    asking = Asking()
    registered = asking.cluster.node("/brokers/ids/2")
    assert registered is not None
    asking.cluster.zookeeper.expire(registered.stat.ephemeral_owner)
    asking.alter("log.retention.ms", "60000")
    assert asking.refusal is ErrorCode.NOT_CONTROLLER
    asking.cluster.turns.drain()
    assert asking.cluster.node(PATH) is None


def test_nor_does_the_controller_past_itself() -> None:
    asking = Asking()
    answers: list[object] = []
    asking.controller.store.alter_own(BrokerId(1), lambda image: ([], "done"), answers.append)
    asking.cluster.turns.drain()
    (answer,) = answers
    assert isinstance(answer, KafkaError)


def test_before_it_is_registered_it_is_to_be_asked_later() -> None:
    cluster = Cluster()
    store = ZooKeeperStore(cluster.zookeeper, "cluster", SteerableClock(), SeededEntropy(3))
    store.open_session(BrokerId(3), lambda event: None)
    cluster.turns.drain()
    answers: list[object] = []
    store.alter_own(BrokerId(3), lambda image: ([], "done"), answers.append)
    (answer,) = answers
    assert isinstance(answer, KafkaError)


def test_at_no_turn_is_lost_what_another_sets() -> None:
    """While this broker reads that, and more."""
    turns = 0
    while True:
        asking = Asking()
        asking.alter("log.retention.ms", "1")
        theirs = znodes.write_config({"background.threads": "6"})
        told = znodes.write_config_change(TWO)
        asking.cluster.hand.multi(
            [SetData(PATH, theirs), Create(znodes.CONFIG_CHANGE, told, sequential=True)],
            lambda result: None,
        )
        topic = znodes.TopicNode(uuid(1), (znodes.Assignment((BrokerId(2),)),))
        asking.cluster.hand.multi(
            [Create(znodes.topic_path("t"), znodes.write_topic(topic))], lambda result: None
        )
        asking.cluster.turns.some(turns)
        is_read = asking.broker.image.configs[TWO] == {"background.threads": "6"}
        asking.alter("log.retention.ms", "60000")
        if isinstance(asking.answers[-1], KafkaError):
            asking.alter("log.retention.ms", "60000")
        assert asking.settings == {"background.threads": "6", "log.retention.ms": "60000"}, turns
        if is_read:
            break
        turns += 1
    assert turns > 3

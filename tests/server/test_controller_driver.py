from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.controller.brokers import SESSION_TIMEOUT_MS
from kafkalite.controller.events import (
    AllocateProducerIds,
    CreatedTopic,
    CreateTopics,
    DeleteTopics,
    NewTopic,
    ProducerIdBlock,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
)
from kafkalite.controller.features import FINALIZED
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.store import (
    BrokerLeft,
    BrokerRegistration,
    CommitFailed,
    CommitFailure,
    CommitResult,
    ConfigsEdited,
    Deposed,
    Elected,
    ImageWatcher,
    Loaded,
    MetadataSession,
    SessionLost,
)
from kafkalite.protocol.messages.metadata_records import FeatureLevelRecord
from kafkalite.server.controller_driver import MAX_EARLY, RETRY_MS, ControllerDriver
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_log import FOLDER, MetadataLog
from kafkalite.types import BrokerEpoch, BrokerId, ControllerEpoch, ProducerId, TimestampMs
from tests.controller.sample_cluster import broker_registration, uuid
from tests.server.hand_clock import HandClock


class Node:
    """One broker's session, driver and image."""

    def __init__(self, store: MemoryStore, clock: HandClock, id: int) -> None:
        self.id = BrokerId(id)
        self.image = MetadataImage()
        self.driver = ControllerDriver(clock, ControllerSettings())
        self.session = store.open_session(self.id, self.driver.on_store_event)
        self.session.watch(self._watch)
        self.driver.start(self.session)

    def _watch(self, image: MetadataImage, delta: object) -> None:
        self.image = image

    def register(self, incarnation: int = 0) -> None:
        self.session.register(broker_registration(self.id, incarnation=incarnation))

    def create(self, name: str, number: int, partitions: int = 1, factor: int = -1) -> object:
        replies: list[object] = []
        self.driver.submit(
            CreateTopics(None, (NewTopic(name, partitions, factor),), (uuid(number),), 0),
            replies.append,
        )
        (reply,) = replies
        return reply

    def block(self) -> ProducerIdBlock | KafkaError:
        replies: list[ProducerIdBlock | KafkaError] = []
        epoch = self.image.brokers[self.id].epoch
        self.driver.submit(AllocateProducerIds(None, self.id, epoch), replies.append)
        return replies[0]


def memory_store(clock: HandClock, files: MemoryFiles | None = None) -> MemoryStore:
    if files is None:
        return MemoryStore("cluster", clock)
    log = MetadataLog.open(
        files,
        node_id=BrokerId(1),
        directory_id=uuid(2001),
        now=TimestampMs(0),
        clean=False,
        formatted_with=[FeatureLevelRecord(name="metadata.version", feature_level=33)],
    )
    return MemoryStore("cluster", clock, log)


def code(reply: object) -> ErrorCode:
    assert isinstance(reply, KafkaError), reply
    return reply.code


def is_active(driver: ControllerDriver) -> bool:
    """A call, since a type checker takes a property to stay as it was."""
    return driver.active


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def test_one_broker_is_a_cluster(clock: HandClock) -> None:
    node = Node(memory_store(clock), clock, 1)
    assert is_active(node.driver)
    assert node.image.features == FINALIZED
    node.register()
    assert node.image.brokers[node.id].active
    assert isinstance(node.create("t", 1, 3), TopicsCreated)
    assert [p.leader for p in node.image.topics["t"].partitions] == [1, 1, 1]
    replies: list[TopicsDeleted | KafkaError] = []
    node.driver.submit(DeleteTopics(None, (TopicToDelete("t"),)), replies.append)
    assert isinstance(replies[0], TopicsDeleted)
    assert node.image.topics == {}


def test_a_topic_is_usable_everywhere_when_the_answer_comes(clock: HandClock) -> None:
    store = memory_store(clock)
    nodes = [Node(store, clock, id) for id in (1, 2, 3)]
    for node in nodes:
        node.register()
    seen: list[list[str]] = []
    nodes[0].driver.submit(
        CreateTopics(None, (NewTopic("t"),), (uuid(1),), 0),
        lambda reply: seen.append([name for node in nodes for name in node.image.topics]),
    )
    assert seen == [["t", "t", "t"]]


def test_only_the_controller_answers(clock: HandClock) -> None:
    store = memory_store(clock)
    first, second = Node(store, clock, 1), Node(store, clock, 2)
    first.register()
    assert code(second.create("t", 1)) is ErrorCode.NOT_CONTROLLER
    first.driver.stop()
    first.session.close()
    assert code(first.create("t", 1)) is ErrorCode.NOT_CONTROLLER
    assert second.driver.active
    second.register()
    assert isinstance(second.create("t", 1), TopicsCreated)


def test_after_the_controllers_death_the_next_one_knows_everything(clock: HandClock) -> None:
    store = memory_store(clock)
    first, second = Node(store, clock, 1), Node(store, clock, 2)
    first.register()
    second.register()
    first.create("t", 1, 1, 2)
    assert first.block() == ProducerIdBlock(ProducerId(0), 1000)
    store.expire(first.id)
    assert not first.driver.active
    partition = second.image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr) == (2, (2,))
    assert second.block() == ProducerIdBlock(ProducerId(1000), 1000)


def test_a_broker_that_does_not_come_back_is_fenced_in_time(clock: HandClock) -> None:
    files = MemoryFiles()
    store = memory_store(clock, files)
    first, second = Node(store, clock, 1), Node(store, clock, 2)
    first.register()
    second.register()
    first.create("t", 1, 1, 2)
    again = Node(memory_store(clock, files), clock, 1)
    again.register(incarnation=1)
    clock.advance(SESSION_TIMEOUT_MS - 1)
    assert again.image.brokers[BrokerId(2)].active
    clock.advance(1)
    assert [broker.id for broker in again.image.active_brokers()] == [1]
    partition = again.image.topics["t"].partitions[0]
    assert (partition.leader, partition.isr) == (-1, (2,)), "1 may have lost what 2 has"


def test_a_restart_keeps_topics_and_never_gives_a_producer_id_twice(clock: HandClock) -> None:
    files = MemoryFiles()
    first = Node(memory_store(clock, files), clock, 1)
    first.register()
    first.create("t", 1, 2)
    assert first.block() == ProducerIdBlock(ProducerId(0), 1000)
    again = Node(memory_store(clock, files), clock, 1)
    assert again.image.topics["t"].id == uuid(1)
    again.register(incarnation=1)
    partition = again.image.topics["t"].partitions[1]
    assert (partition.leader, partition.leader_epoch) == (1, 1)
    assert again.block() == ProducerIdBlock(ProducerId(1000), 1000)
    assert again.image.features == {"metadata.version": 33}
    log = files.open_read(f"{FOLDER}/00000000000000000000.log")
    content = log.read(0, log.size)
    assert content.count(b"metadata.version") == 1 + 2, "formatted with once, registered twice"


class SlowSession:
    """The memory store's session, with commits that end when the test says so."""

    def __init__(self, inner: MetadataSession) -> None:
        self._inner = inner
        self.pending: list[Callable[[CommitResult | None], None]] = []
        self.loading: list[Callable[[], None]] = []
        self.slow_load = False
        self.runs = 0
        self.fail_run = False

    def register(self, registration: BrokerRegistration) -> None:
        self._inner.register(registration)

    def run_for_controller(self) -> None:
        self.runs += 1
        if self.fail_run:
            raise OSError(28, "No space left on device")
        self._inner.run_for_controller()

    def resign(self) -> None:
        self._inner.resign()

    def folder_failed(self) -> None:
        self._inner.folder_failed()

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        if self.slow_load:
            self.loading.append(lambda: self._inner.load(on_loaded))
        else:
            self._inner.load(on_loaded)

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        def end(failure: CommitResult | None) -> None:
            if failure is None:
                self._inner.commit(epoch, changes, on_done)
            else:
                on_done(failure)

        self.pending.append(end)

    def done(self, failure: CommitFailed | None = None) -> None:
        self.pending.pop(0)(failure)

    def watch(self, watcher: ImageWatcher) -> None:
        self._inner.watch(watcher)

    def close(self) -> None:
        self._inner.close()


class SlowNode:
    def __init__(self, clock: HandClock) -> None:
        self.store = memory_store(clock)
        self.driver = ControllerDriver(clock, ControllerSettings())
        self.session = SlowSession(self.store.open_session(BrokerId(1), self.driver.on_store_event))
        self.replies: list[object] = []

    def start(self) -> None:
        self.driver.start(self.session)
        self.session.done()  # The first records of a cluster.
        self.session.register(broker_registration(1))
        self.session.done()

    def create(self, *names: str) -> None:
        for name in names:
            topics = (NewTopic(name),)
            ids = (uuid(len(self.replies) + ord(name)),)
            self.driver.submit(CreateTopics(None, topics, ids, 0), self.replies.append)


def test_commits_take_time_and_events_wait(clock: HandClock) -> None:
    node = SlowNode(clock)
    node.start()
    node.create("a", "a", "b")
    assert node.replies == []
    assert len(node.session.pending) == 1
    node.session.done()
    first, second = node.replies
    assert isinstance(first, TopicsCreated)
    assert isinstance(first.topics[0], CreatedTopic)
    assert isinstance(second, TopicsCreated)
    assert not isinstance(second.topics[0], CreatedTopic), "decided on what the first one made"
    node.session.done()
    assert len(node.replies) == 3
    assert list(node.store.image.topics) == ["a", "b"]


def test_a_failed_commit_ends_the_term_and_another_begins(clock: HandClock) -> None:
    node = SlowNode(clock)
    node.start()
    node.create("a", "b")
    node.session.done(CommitFailed(CommitFailure.STORAGE, "disk full"))
    assert [code(reply) for reply in node.replies] == [ErrorCode.NOT_CONTROLLER] * 2
    assert "disk full" in str(node.replies[0])
    assert not is_active(node.driver)
    node.session.fail_run = True
    clock.advance(RETRY_MS)
    assert not is_active(node.driver)
    node.session.fail_run = False
    clock.advance(RETRY_MS)
    assert is_active(node.driver)
    node.create("a")
    node.session.done()
    assert isinstance(node.replies[-1], TopicsCreated)


def test_terms_that_a_full_disk_ends_are_told_once(
    clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Until something was committed again."""
    node = SlowNode(clock)
    node.start()
    for kept in ("b", "c"):
        for _ in range(3):
            node.create("a")
            node.session.done(CommitFailed(CommitFailure.STORAGE, "disk full"))
            clock.advance(RETRY_MS)
        (line,) = [each for each in caplog.messages if "No longer the controller" in each]
        assert "disk full" in line
        caplog.clear()
        node.create(kept)
        node.session.done()


def test_all_stop_before_their_sessions_end(clock: HandClock) -> None:
    """Each is elected in its turn, and decides nothing any more."""
    store = memory_store(clock)
    nodes = [Node(store, clock, id) for id in (1, 2, 3)]
    for node in nodes:
        node.register()
    for node in nodes:
        node.driver.stop()
    for node in nodes:
        node.session.close()
        assert not any(is_active(each.driver) for each in nodes)
    assert [broker.id for broker in store.image.active_brokers()] == [1, 2, 3]


def test_a_stopped_driver_does_not_run_again(clock: HandClock) -> None:
    node = SlowNode(clock)
    node.start()
    node.create("a")
    node.session.done(CommitFailed(CommitFailure.STORAGE))
    node.driver.stop()
    clock.advance(RETRY_MS)
    assert node.session.runs == 1


@pytest.mark.parametrize("event", [SessionLost(), Deposed()])
def test_who_loses_the_term_refuses_everyone_who_waits(
    clock: HandClock, event: SessionLost | Deposed
) -> None:
    node = SlowNode(clock)
    node.start()
    node.create("a", "b")
    node.driver.on_store_event(event)
    assert [code(reply) for reply in node.replies] == [ErrorCode.NOT_CONTROLLER] * 2
    node.session.done()
    assert not is_active(node.driver)


def test_what_happens_while_loading_is_taken_in_after_it(clock: HandClock) -> None:
    node = SlowNode(clock)
    node.session.slow_load = True
    node.driver.start(node.session)
    other = node.store.open_session(BrokerId(2), lambda event: None)
    other.register(broker_registration(2))
    other.close()
    assert not is_active(node.driver)
    node.session.loading.pop()()
    assert is_active(node.driver)
    while node.session.pending:
        node.session.done()
    assert node.store.image.brokers[BrokerId(2)].fenced


def test_a_load_during_which_too_much_happens_is_given_up_and_begun_again(
    clock: HandClock,
) -> None:
    node = SlowNode(clock)
    node.session.slow_load = True
    node.driver.start(node.session)
    left = BrokerLeft(BrokerId(2), BrokerEpoch(0))
    for _ in range(MAX_EARLY + 1):
        node.driver.on_store_event(left)
    node.session.loading.pop()()
    assert not is_active(node.driver), "its term is over"
    assert node.store.image.controller_id == 1
    clock.advance(RETRY_MS)
    assert node.session.runs == 2
    node.driver.on_store_event(left)
    node.session.loading.pop()()
    assert is_active(node.driver)


def test_what_is_loaded_for_a_term_that_ended_is_thrown_away(clock: HandClock) -> None:
    node = SlowNode(clock)
    node.session.slow_load = True
    node.driver.start(node.session)
    node.driver.on_store_event(Deposed())
    node.session.loading.pop()()
    assert not is_active(node.driver)
    node.driver.on_store_event(Elected(ControllerEpoch(9)))
    node.driver.stop()
    node.session.loading.pop()()
    assert not is_active(node.driver)


def test_nobody_is_told_of_brokers_and_settings_who_is_no_controller(clock: HandClock) -> None:
    store = memory_store(clock)
    Node(store, clock, 1)
    driver = ControllerDriver(clock, ControllerSettings())
    driver.on_store_event(BrokerLeft(BrokerId(1), BrokerEpoch(0)))
    settings = ConfigResource(ConfigResourceType.BROKER, "1")
    driver.on_store_event(ConfigsEdited(settings, lambda: pytest.fail("nobody decides on them")))
    assert not driver.active

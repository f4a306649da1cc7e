"""What a controller tells other brokers: byte by byte what Kafka 3.9's told in the same place, and
when it is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta, TopicChange, difference, whole
from kafkalite.metadata.image import (
    BrokerImage,
    Endpoint,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.protocol.codec import decode, encode
from kafkalite.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafkalite.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafkalite.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.inter_broker import AGAIN_MS, InterBrokerPushes, Replicas
from kafkalite.server.inter_broker_requests import requests_for, stop_of_deleted
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, Offset, Uuid
from tests.controller.sample_cluster import uuid
from tests.stores.golden_znodes import FOLDER

R = TypeVar("R", bound=Request)
PLAINTEXT = "PLAINTEXT"


def golden(cls: type[R], api: str) -> Iterator[tuple[R, bytes, BrokerId]]:
    """What was sent: decoded, its bytes behind the header, and to whom."""
    for line in (FOLDER / "inter-broker.jsonl").read_text().splitlines():
        recorded = json.loads(line)
        if recorded["api"] != api:
            continue
        frame = bytes.fromhex(recorded["request_hex"])
        at = 8 + 2 + int.from_bytes(frame[8:10], "big") + 1  # Client id, and no tagged fields.
        version = cls.__schema__.versions.last
        assert recorded["version"] == version
        yield decode(cls, version, frame, at), frame[at:], BrokerId(recorded["to_broker"])


def broker(id: int, port: int = 9092, epoch: int = 5) -> BrokerImage:
    endpoints = (Endpoint(PLAINTEXT, "127.0.0.1", port),)
    return BrokerImage(BrokerId(id), BrokerEpoch(epoch), uuid(id), endpoints, {}, fenced=False)


def ids(numbers: list[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def test_leader_and_isr_is_kafkas_byte_by_byte() -> None:
    seen = 0
    for request, body, to in golden(LeaderAndIsrRequest, "LeaderAndIsr"):
        topics, changed, created = {}, [], []
        for each in request.topic_states:
            states = {state.partition_index: state for state in each.partition_states}
            count = max(states) + 1
            filler = PartitionImage((), (), BrokerId(-1), LeaderEpoch(0), 0)
            partitions = tuple(
                PartitionImage(
                    replicas=ids(states[index].replicas),
                    isr=ids(states[index].isr),
                    leader=BrokerId(states[index].leader),
                    leader_epoch=LeaderEpoch(states[index].leader_epoch),
                    partition_epoch=states[index].partition_epoch,
                )
                if index in states
                else filler
                for index in range(count)
            )
            topic = TopicImage(each.topic_name, Uuid(bytes(each.topic_id)), partitions)
            topics[topic.name] = topic
            before = tuple(
                None if states.get(index) and states[index].is_new else partition
                for index, partition in enumerate(partitions)
            )
            if None in before:
                created.append(topic)
            else:
                old = tuple(each._replace(isr=()) for each in partitions)
                changed.append(TopicChange(topic._replace(partitions=old), topic))
        ports = {each.broker_id: each.port for each in request.live_leaders}
        brokers = {BrokerId(id): broker(id, port) for id, port in ports.items()}
        brokers[to] = broker(to, ports.get(to, 1), request.broker_epoch)
        image = MetadataImage(
            epoch=ControllerEpoch(request.controller_epoch),
            controller_id=BrokerId(request.controller_id),
            topics=topics,
            brokers=brokers,
        )
        epochs = {s.controller_epoch for t in request.topic_states for s in t.partition_states}
        if epochs != {request.controller_epoch}:
            continue  # States that an earlier controller wrote: we say the present one.
        delta = MetadataDelta(created=tuple(created), changed=tuple(changed))
        ours = next(iter(requests_for(image, delta, brokers[to], PLAINTEXT)))
        assert isinstance(ours, LeaderAndIsrRequest)
        theirs = decode(LeaderAndIsrRequest, 7, body, 0)
        for sent in (ours, theirs):
            sent.topic_states.sort(key=lambda topic: topic.topic_name)
            sent.live_leaders.sort(key=lambda leader: leader.broker_id)
            for topic_state in sent.topic_states:
                topic_state.partition_states.sort(key=lambda state: state.partition_index)
        assert encode(ours, 7) == encode(theirs, 7)
        seen += 1
    assert seen > 3


def test_update_metadata_is_kafkas_byte_by_byte() -> None:
    seen = 0
    for request, body, to in golden(UpdateMetadataRequest, "UpdateMetadata"):
        topics = {}
        for each in request.topic_states:
            states = sorted(each.partition_states, key=lambda state: state.partition_index)
            partitions = tuple(
                PartitionImage(
                    replicas=ids(state.replicas),
                    isr=ids(state.isr),
                    leader=BrokerId(state.leader),
                    leader_epoch=LeaderEpoch(state.leader_epoch),
                    partition_epoch=state.zk_version,
                )
                for state in states
            )
            topics[each.topic_name] = TopicImage(
                each.topic_name, Uuid(bytes(each.topic_id)), partitions
            )
        live = request.live_brokers
        brokers = {BrokerId(b.id): broker(b.id, b.endpoints[0].port) for b in live}
        image = MetadataImage(
            epoch=ControllerEpoch(request.controller_epoch),
            controller_id=BrokerId(request.controller_id),
            topics=topics,
            brokers=brokers,
        )
        epochs = {s.controller_epoch for t in request.topic_states for s in t.partition_states}
        if not epochs <= {request.controller_epoch}:
            continue  # See above.
        to_whom = broker(to, epoch=request.broker_epoch)
        delta = MetadataDelta(created=tuple(topics.values()), brokers=tuple(brokers))
        ours = list(requests_for(image, delta, to_whom, PLAINTEXT))[-1]
        assert isinstance(ours, UpdateMetadataRequest)
        theirs = decode(UpdateMetadataRequest, 8, body, 0)
        for sent in (ours, theirs):
            sent.live_brokers.sort(key=lambda each: each.id)
            for topic_state in sent.topic_states:
                topic_state.partition_states.sort(key=lambda state: state.partition_index)
                for state in topic_state.partition_states:
                    state.offline_replicas.sort()
        assert encode(ours, 8) == encode(theirs, 8)
        seen += bool(topics)
    assert seen > 3


def test_what_is_deleted_is_stopped_as_by_kafka_byte_by_byte() -> None:
    """It says so twice: first that the replicas stop, and then that they go."""
    seen = 0
    for request, body, to in golden(StopReplicaRequest, "StopReplica"):
        (stopped,) = request.topic_states
        partition = PartitionImage(ids([to]), ids([to]), to, LeaderEpoch(0), 0)
        topic = TopicImage(stopped.topic_name, uuid(1), (partition,) * 3)
        image = MetadataImage(
            epoch=ControllerEpoch(request.controller_epoch),
            controller_id=BrokerId(request.controller_id),
        )
        theirs = decode(StopReplicaRequest, 4, body, 0)
        theirs.topic_states[0].partition_states.sort(key=lambda state: state.partition_index)
        if all(state.delete_partition for state in stopped.partition_states):
            ours = stop_of_deleted(image, topic, broker(to, epoch=request.broker_epoch))
            assert encode(ours, 4) == encode(theirs, 4)
            seen += 1
    assert seen == 3


def test_a_partition_is_new_until_its_state_changes() -> None:
    """A Kafka makes the log of a new one anew where one of its folders has failed. All is told to
    who joins, and by a new controller."""
    partitions = tuple(
        PartitionImage(ids([2]), ids([2]), BrokerId(2), LeaderEpoch(0), epoch) for epoch in (0, 1)
    )
    topic = TopicImage("t", uuid(1), partitions)
    image = MetadataImage(topics={"t": topic}, brokers={BrokerId(2): broker(2)})
    told = next(
        each
        for each in requests_for(image, whole(image), broker(2), PLAINTEXT)
        if isinstance(each, LeaderAndIsrRequest)
    )
    assert [each.is_new for each in told.topic_states[0].partition_states] == [True, False]


class SentPeers:
    """Peers that keep what they are asked, until the test answers."""

    def __init__(self) -> None:
        self.sent: list[tuple[BrokerId, Request]] = []
        self._replies: list[Callable[[Response | KafkaError], None]] = []

    def ask(
        self,
        broker_id: BrokerId,
        request: Request,
        on_reply: Callable[[Response | KafkaError], None],
        *,
        timeout_ms: int,
        purpose: str = "",
    ) -> None:
        self.sent.append((broker_id, request))
        self._replies.append(on_reply)

    def answer(self, reply: Response | KafkaError | None = None) -> None:
        """All that was asked so far."""
        replies, self._replies = self._replies, []
        for on_reply in replies:
            on_reply(LeaderAndIsrResponse() if reply is None else reply)

    def took(self) -> list[tuple[int, str]]:
        sent, self.sent = self.sent, []
        return [(id, type(each).__name__.removesuffix("Request")) for id, each in sent]


ONE = BrokerId(1)
TOPIC = TopicImage(
    "t", uuid(1), (PartitionImage(ids([2, 3]), ids([2, 3]), BrokerId(2), LeaderEpoch(0), 0),)
)
BARE = MetadataImage(
    controller_id=ONE, epoch=ControllerEpoch(1), brokers={BrokerId(n): broker(n) for n in (1, 2, 3)}
)
WITH_TOPIC = BARE._replace(topics={"t": TOPIC}, topics_by_id={TOPIC.id: TOPIC})


class Told:
    def __init__(self) -> None:
        self.peers = SentPeers()
        self.clock = SteerableClock()
        self.pushes = InterBrokerPushes(ONE, PLAINTEXT, self.peers, self.clock)
        self.image = MetadataImage()

    def becomes(self, image: MetadataImage) -> list[tuple[int, str]]:
        delta = difference(self.image, image)
        self.image = image
        self.pushes.apply(image, delta)
        return self.peers.took()


def test_who_is_not_the_controller_is_silent() -> None:
    told = Told()
    assert told.becomes(WITH_TOPIC._replace(controller_id=BrokerId(2))) == []


def test_a_new_controller_tells_everything_and_then_what_changes() -> None:
    told = Told()
    told.becomes(WITH_TOPIC._replace(controller_id=BrokerId(2)))
    all_of_it = ("UpdateMetadata", "LeaderAndIsr", "UpdateMetadata")
    assert told.becomes(WITH_TOPIC) == [(id, each) for id in (2, 3) for each in all_of_it]
    assert told.becomes(WITH_TOPIC) == []
    joined = WITH_TOPIC._replace(brokers={**WITH_TOPIC.brokers, BrokerId(4): broker(4)})
    assert told.becomes(joined) == [(id, "UpdateMetadata") for id in (2, 3, 4)]
    without = joined._replace(topics={}, topics_by_id={})
    assert told.becomes(without) == [(id, "UpdateMetadata") for id in (2, 3, 4)]


def test_what_is_deleted_or_moved_away_is_stopped() -> None:
    gone = MetadataDelta(deleted=(TOPIC,))
    (update,) = requests_for(BARE, gone, broker(2), PLAINTEXT)
    assert isinstance(update, UpdateMetadataRequest)
    assert [s.leader for t in update.topic_states for s in t.partition_states] == [-2]
    stop: Request = stop_of_deleted(BARE, TOPIC, broker(2))
    assert isinstance(stop, StopReplicaRequest)
    (state,) = stop.topic_states[0].partition_states
    assert (state.leader_epoch, state.delete_partition) == (-2, True)
    moved = TOPIC._replace(
        partitions=(TOPIC.partitions[0]._replace(replicas=ids([3]), leader_epoch=LeaderEpoch(4)),)
    )
    _, stop = requests_for(
        BARE, MetadataDelta(changed=(TopicChange(TOPIC, moved),)), broker(2), PLAINTEXT
    )
    assert isinstance(stop, StopReplicaRequest)
    (state,) = stop.topic_states[0].partition_states
    assert (state.leader_epoch, state.delete_partition) == (4, True)


def test_a_commit_waits_for_all_answers() -> None:
    told = Told()
    done: list[str] = []
    told.pushes.wait_answered(lambda: done.append("nothing was told"))
    told.becomes(WITH_TOPIC)
    told.pushes.wait_answered(lambda: done.append("all"))
    assert done == ["nothing was told"]
    told.peers.answer()
    assert done == ["nothing was told", "all"]


@pytest.mark.anyio
async def test_who_answers_nothing_of_several_is_told_everything_once() -> None:
    told = Told()
    all_of_it = told.becomes(WITH_TOPIC)
    for _ in range(3):
        told.peers.answer(KafkaError(ErrorCode.NETWORK_EXCEPTION))
        told.clock.advance(AGAIN_MS)
        assert told.peers.took() == all_of_it


@pytest.mark.anyio
async def test_who_does_not_answer_is_told_everything_again() -> None:
    told = Told()
    told.becomes(BARE)
    told.peers.answer(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    assert told.peers.took() == []
    told.clock.advance(AGAIN_MS)
    assert told.peers.took() == [(2, "UpdateMetadata"), (3, "UpdateMetadata")]
    told.peers.answer(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    told.becomes(BARE._replace(brokers={ONE: broker(1), BrokerId(3): broker(3, epoch=6)}))
    told.peers.answer()
    told.peers.took()
    told.clock.advance(AGAIN_MS)
    assert told.peers.took() == [], "one is gone, and the other has come anew"


STOPPED = StopReplicaResponse()
ALONE = BARE._replace(brokers={id: BARE.brokers[id] for id in (ONE, BrokerId(2))})


def test_all_who_have_replicas_are_asked_to_drop_them() -> None:
    told, done = Told(), list[str]()
    told.becomes(BARE)
    told.pushes.stop(TOPIC, lambda: done.append("t"))
    assert told.peers.took() == [(2, "StopReplica"), (3, "StopReplica")]
    told.peers.answer(STOPPED)
    assert done == ["t"]
    mine = TOPIC._replace(partitions=(TOPIC.partitions[0]._replace(replicas=ids([1])),))
    told.pushes.stop(mine, lambda: done.append("mine"))
    assert done == ["t", "mine"], "this broker has dropped it already"


def test_who_is_away_is_asked_when_it_is_back() -> None:
    told, done = Told(), list[str]()
    told.becomes(ALONE)
    told.pushes.stop(TOPIC, lambda: done.append("t"))
    assert told.peers.took() == [(2, "StopReplica")]
    told.peers.answer(STOPPED)
    told.becomes(ALONE._replace(end_offset=Offset(9)))
    assert done == []
    assert told.becomes(BARE)[-1] == (3, "StopReplica")
    told.peers.answer(STOPPED)
    assert done == ["t"]
    assert told.becomes(ALONE) == [(2, "UpdateMetadata")]
    assert (3, "StopReplica") not in told.becomes(BARE), "it was asked for"


@pytest.mark.parametrize(
    "refusal",
    [
        StopReplicaResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
        StopReplicaResponse(
            partition_errors=[StopReplicaPartitionError(error_code=ErrorCode.KAFKA_STORAGE_ERROR)]
        ),
        KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_who_refuses_is_asked_again_in_its_next_life(
    refusal: StopReplicaResponse | KafkaError,
) -> None:
    told, done = Told(), list[str]()
    told.becomes(BARE)
    told.pushes.stop(TOPIC, lambda: done.append("t"))
    told.peers.answer(refusal)
    assert done == []
    told.peers.took()
    again = {**BARE.brokers, BrokerId(2): broker(2, epoch=6), BrokerId(3): broker(3, epoch=6)}
    stops = told.becomes(BARE._replace(brokers=again))
    assert [id for id, api in stops if api == "StopReplica"] == [2, 3]
    told.peers.answer(STOPPED)
    assert done == ["t"]


@pytest.mark.anyio
async def test_who_does_not_answer_is_asked_again_to_drop_it() -> None:
    told, done = Told(), list[str]()
    told.becomes(BARE)
    told.pushes.stop(TOPIC, lambda: done.append("t"))
    told.peers.took()
    told.peers.answer(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
    told.clock.advance(AGAIN_MS)
    assert [id for id, api in told.peers.took() if api == "StopReplica"] == [2, 3]
    told.peers.answer(STOPPED)
    assert done == ["t"]


def test_who_is_controller_no_more_asks_nobody_to_drop_anything() -> None:
    told, done = Told(), list[str]()
    told.becomes(ALONE)
    told.pushes.stop(TOPIC, lambda: done.append("t"))
    told.peers.answer(STOPPED)
    told.becomes(ALONE._replace(controller_id=BrokerId(2)))
    assert (3, "StopReplica") not in told.becomes(BARE)
    assert done == []


def storage_error(topic: TopicImage) -> LeaderAndIsrResponse:
    error = LeaderAndIsrPartitionError(error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return LeaderAndIsrResponse(
        topics=[LeaderAndIsrTopicError(topic_id=topic.id, partition_errors=[error])]
    )


def test_replicas_on_no_disk_are_told_to_the_controller() -> None:
    told, offline = Told(), list[tuple[int, Replicas]]()
    told.pushes.on_offline = lambda broker, replicas: offline.append((broker.id, replicas))
    told.becomes(WITH_TOPIC)
    told.peers.answer()
    told.peers.took()
    told.pushes.look_for_offline(BrokerId(3))
    assert told.peers.took() == [
        (3, "UpdateMetadata"),
        (3, "LeaderAndIsr"),
        (3, "UpdateMetadata"),
    ], "it is told of all that it has"
    told.peers.answer(storage_error(TOPIC))
    assert offline == [(3, ((TOPIC.id, 0),))] * 3  # Each of the three was answered so here.
    told.pushes.look_for_offline(BrokerId(9))
    assert told.peers.took() == [], "it is away: its next registration tells"


def test_a_controller_looks_for_its_own_as_well() -> None:
    told, offline = Told(), list[tuple[int, Replicas]]()
    told.pushes.on_offline = lambda broker, replicas: offline.append((broker.id, replicas))
    told.becomes(WITH_TOPIC)
    told.pushes.look_for_offline(ONE)
    assert offline == []
    told.pushes.lost_here = lambda: ((TOPIC.id, 0),)
    told.pushes.look_for_offline(ONE)
    assert offline == [(1, ((TOPIC.id, 0),))]


def test_who_was_deposed_meanwhile_leaves_it_to_the_next_one() -> None:
    told, offline = Told(), list[tuple[int, Replicas]]()
    told.pushes.on_offline = lambda broker, replicas: offline.append((broker.id, replicas))
    told.becomes(WITH_TOPIC)
    told.becomes(WITH_TOPIC._replace(controller_id=BrokerId(2)))
    told.peers.answer(storage_error(TOPIC))
    assert offline == []

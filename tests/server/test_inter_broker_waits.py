"""A broker's answers to its controller: as soon as it has folded what it was told of."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from kafkalite.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from kafkalite.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafkalite.protocol.schema import Response
from kafkalite.server.apis import leader_and_isr, stop_replica, update_metadata
from kafkalite.server.awaited_images import WITHIN_MS, AwaitedImages
from kafkalite.server.inter_broker_waits import all_folded
from kafkalite.server.purgatory import Parked
from kafkalite.stores.told_states import ToldState
from kafkalite.stores.znodes import StateNode
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId, ControllerEpoch, LeaderEpoch, Uuid
from tests.server.test_inter_broker import ONE, TOPIC, WITH_TOPIC


class Services:
    def __init__(self) -> None:
        self.image = MetadataImage(epoch=ControllerEpoch(1), brokers=WITH_TOPIC.brokers)
        self.awaited = AwaitedImages()
        self.clock = SteerableClock()
        self.broker_id = BrokerId(2)
        self.replicas = self
        self.failed: set[tuple[Uuid, int]] = set()

    def is_lost(self, topic_id: Uuid, index: int) -> bool:
        return (topic_id, index) in self.failed


class Context:
    """What these handlers ask of a `RequestContext`."""

    def __init__(self) -> None:
        self.services = Services()

    def folds(self, image: MetadataImage) -> None:
        self.services.image = image
        self.services.awaited.apply(image)


def leader_and_isr_of(
    *, controller_epoch: int = 1, broker_epoch: int = 5, leader: int = 2, leader_epoch: int = 0
) -> LeaderAndIsrRequest:
    state = LeaderAndIsrPartitionState(partition_index=0, leader=leader, leader_epoch=leader_epoch)
    topics = [LeaderAndIsrTopicState(topic_name="t", topic_id=TOPIC.id, partition_states=[state])]
    return LeaderAndIsrRequest(
        controller_id=ONE,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=topics,
    )


def update_metadata_of(leader: int) -> UpdateMetadataRequest:
    state = UpdateMetadataPartitionState(partition_index=0, leader=leader, leader_epoch=leader)
    topics = [UpdateMetadataTopicState(topic_name="t", topic_id=TOPIC.id, partition_states=[state])]
    return UpdateMetadataRequest(controller_epoch=1, broker_epoch=5, topic_states=topics)


def answers_of(parked: Parked) -> list[Response | None]:
    answers: list[Response | None] = []
    parked.then(lambda make: answers.append(make()))
    return answers


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_leaders_are_answered_when_they_are_folded() -> None:
    ctx = Context()
    answers = answers_of(leader_and_isr.handle(ctx, leader_and_isr_of()))  # type: ignore[arg-type]  # See `Context`.
    ctx.folds(ctx.services.image)
    assert answers == []
    ctx.folds(WITH_TOPIC)
    (answer,) = answers
    assert isinstance(answer, LeaderAndIsrResponse)
    assert [each.topic_id for each in answer.topics] == [TOPIC.id]
    assert [e.error_code for t in answer.topics for e in t.partition_errors] == [0]


@pytest.mark.anyio
async def test_what_has_no_leader_is_waited_for_where_the_topic_is() -> None:
    """And not where it is being deleted: there it will not come."""
    ctx = Context()
    deleted = answers_of(leader_and_isr.handle(ctx, leader_and_isr_of(leader=-1, leader_epoch=1)))  # type: ignore[arg-type]  # As above.
    also = answers_of(update_metadata.handle(ctx, update_metadata_of(-1)))  # type: ignore[arg-type]  # As above.
    assert (len(deleted), len(also)) == (1, 1)
    ctx.folds(WITH_TOPIC)
    answers = answers_of(leader_and_isr.handle(ctx, leader_and_isr_of(leader=-1, leader_epoch=1)))  # type: ignore[arg-type]  # As above.
    assert answers == []
    newest = TOPIC._replace(partitions=(TOPIC.partitions[0]._replace(leader_epoch=LeaderEpoch(1)),))
    ctx.folds(WITH_TOPIC._replace(topics={"t": newest}, topics_by_id={TOPIC.id: newest}))
    assert len(answers) == 1


@pytest.mark.anyio
async def test_what_is_on_no_disk_is_told_with_the_leaders() -> None:
    ctx = Context()
    ctx.folds(WITH_TOPIC)
    ctx.services.failed.add((TOPIC.id, 0))
    (answer,) = answers_of(leader_and_isr.handle(ctx, leader_and_isr_of()))  # type: ignore[arg-type]  # As above.
    assert isinstance(answer, LeaderAndIsrResponse)
    codes = [e.error_code for t in answer.topics for e in t.partition_errors]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR]


@pytest.mark.anyio
async def test_old_news_is_answered_after_a_while() -> None:
    ctx = Context()
    answers = answers_of(leader_and_isr.handle(ctx, leader_and_isr_of()))  # type: ignore[arg-type]  # As above.
    ctx.services.clock.advance(WITHIN_MS)
    assert len(answers) == 1
    ctx.folds(WITH_TOPIC)
    assert len(answers) == 1


@pytest.mark.anyio
async def test_metadata_is_answered_when_topics_have_come_and_gone() -> None:
    ctx = Context()
    come = answers_of(update_metadata.handle(ctx, update_metadata_of(2)))  # type: ignore[arg-type]  # As above.
    gone = answers_of(update_metadata.handle(ctx, update_metadata_of(-2)))  # type: ignore[arg-type]  # As above.
    assert (len(come), len(gone)) == (0, 1)
    ctx.folds(WITH_TOPIC)
    assert len(come) == 0, "the epoch that was told of is not there yet"
    newest = TOPIC._replace(partitions=(TOPIC.partitions[0]._replace(leader_epoch=LeaderEpoch(9)),))
    ctx.folds(WITH_TOPIC._replace(topics={"t": newest}, topics_by_id={TOPIC.id: newest}))
    assert len(come) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"controller_epoch": 0}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 4}, ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_who_was_deposed_or_means_another_life_is_refused(
    fields: dict[str, int], code: ErrorCode
) -> None:
    request = leader_and_isr_of(**fields)
    with pytest.raises(KafkaError) as refused:
        leader_and_isr.handle(Context(), request)  # type: ignore[arg-type]  # As above.
    assert refused.value.code is code
    assert leader_and_isr.refuse(request, code, "").error_code == code
    assert update_metadata.refuse(update_metadata_of(1), code, "").error_code == code


@pytest.mark.anyio
async def test_who_is_to_drop_a_topic_says_so_when_it_is_gone() -> None:
    ctx = Context()
    ctx.folds(WITH_TOPIC)
    deleted = StopReplicaPartitionState(partition_index=3, leader_epoch=-2, delete_partition=True)
    moved = StopReplicaPartitionState(partition_index=3, leader_epoch=2, delete_partition=True)
    gone = answers_of(stop_replica.handle(ctx, stop_of(deleted)))  # type: ignore[arg-type]  # As above.
    elsewhere = answers_of(stop_replica.handle(ctx, stop_of(moved)))  # type: ignore[arg-type]  # As above.
    assert (len(gone), len(elsewhere)) == (0, 1)
    ctx.folds(WITH_TOPIC._replace(topics={}, topics_by_id={}))
    (answer,) = gone
    assert isinstance(answer, StopReplicaResponse)
    (error,) = answer.partition_errors
    assert (error.topic_name, error.partition_index, error.error_code) == ("t", 3, 0)
    refused = stop_replica.refuse(stop_of(moved), ErrorCode.NOT_CONTROLLER, "")
    assert refused.error_code == ErrorCode.NOT_CONTROLLER


def stop_of(state: StopReplicaPartitionState) -> StopReplicaRequest:
    return StopReplicaRequest(
        controller_epoch=1,
        broker_epoch=5,
        topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[state])],
    )


class CountedTopics(dict[Uuid, TopicImage]):
    looks = 0

    def get(self, *words: Any) -> Any:  # Any: as `dict.get`.
        self.looks += 1
        return super().get(*words)


def test_states_that_come_one_by_one_are_each_looked_at_once() -> None:
    """With ten thousand partitions, all of them at each would take minutes."""
    count = 100
    old = TOPIC.partitions[0]
    new = old._replace(leader_epoch=LeaderEpoch(1), partition_epoch=1)
    state = StateNode(BrokerId(2), LeaderEpoch(1), (BrokerId(2),), ControllerEpoch(1))
    is_there = all_folded(ToldState(TOPIC.id, index, state, 1) for index in range(count))
    topics = CountedTopics()
    for done in range(count):
        partitions = (new,) * done + (old,) * (count - done)
        topics[TOPIC.id] = TOPIC._replace(partitions=partitions)
        assert not is_there(MetadataImage(topics_by_id=topics))
    topics[TOPIC.id] = TOPIC._replace(partitions=(new,) * count)
    assert is_there(MetadataImage(topics_by_id=topics))
    assert topics.looks <= 2 * count

"""A consumer in a group of the new protocol (KIP-848), that does what real ones do: it sends
heartbeats, gives up and takes partitions as it is told, reads, commits, and leaves, or dies without
a word.

What it holds is told, and what it commits; the end of the run sees that everything was read. There
are no generations whose owners could be told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.types import TopicPartition, Uuid
from tests.simulation.consumers import Reader
from tests.simulation.group_calls import GroupCalls, LostPlaceError, RebalanceError
from tests.simulation.members import Member
from tests.simulation.world import World

HEARTBEAT, COMMIT, METADATA = 1, 9, 12
REBALANCE_TIMEOUT_MS = SESSION_MS = 10_000
"""The session is the broker's default, which is no longer than a member may take to give up what it
has: else another would get that while this one may rely on its session."""
SETTLED_MS = 18_000
"""So long after the last record a group of the new protocol is still on its way: whoever has died
has a session, and then the others take some heartbeats until they have its partitions."""
_LOST_PLACE = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
}


class ConsumerCalls(GroupCalls):
    """The conversation, with epochs in place of generations. Commits of older epochs may count, so
    all are told as of one generation."""

    commit_version = COMMIT

    def begin(self, member_id: str) -> None:
        """As a new member."""
        self._member_id = member_id
        self.epoch = 0
        self._tells_all = True
        """Also after an answer that did not come, which may have said what to do."""

    async def beat(
        self, topics: Sequence[str], owned: Mapping[Uuid, Sequence[int]]
    ) -> ConsumerGroupHeartbeatResponse | None:
        """None when there is no answer, or none yet. `LostPlaceError`."""
        tells_all, self._tells_all = self._tells_all, True
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self._member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if tells_all else -1,
            subscribed_topic_names=list(topics) if tells_all else None,
            topic_partitions=[
                TopicPartitions(topic_id=topic, partitions=list(indexes))
                for topic, indexes in owned.items()
            ],
        )
        answer = await self._ask(request, HEARTBEAT, ConsumerGroupHeartbeatResponse)
        if answer is None:
            return None
        code = ErrorCode(answer.error_code)
        if code in _LOST_PLACE:
            raise LostPlaceError
        if code is not ErrorCode.NONE:
            await self._again_or_fail(code, "ConsumerGroupHeartbeat")
            return None
        self._tells_all = False
        self.epoch = self._generation = answer.member_epoch
        return answer

    async def leave(self) -> None:
        """Whatever the answer."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self._member_id, member_epoch=-1
        )
        await self._ask(request, HEARTBEAT, ConsumerGroupHeartbeatResponse)

    async def _judge(self, code: ErrorCode, what: str) -> None:
        if code is ErrorCode.STALE_MEMBER_EPOCH:
            raise RebalanceError
        if code in _LOST_PLACE:
            raise LostPlaceError
        await super()._judge(code, what)

    def _asks(self) -> int:
        return 0

    def _accepted(self, token: int) -> None:
        """Older epochs are not refused as a whole."""


class ConsumerMember(Member):
    """One after the other, several consumers of that name."""

    session_ms = SESSION_MS

    def __init__(self, world: World, name: str, group: str, topics: tuple[str, ...]) -> None:
        super().__init__(world, name, group, topics)
        self._ids: dict[str, Uuid] = {}
        self._born = 0
        self._talk = ConsumerCalls(world, name, group)
        self._calls = self._talk

    async def _live(self) -> None:
        self._born += 1
        self._talk.begin(f"{self._name}-{self._born}")
        while True:
            try:
                await self._work()
                return
            except RebalanceError:
                pass  # A commit came too late, or too early: the next heartbeat says more.
            except LostPlaceError:  # It joins again as who it was.
                self._talk.begin(f"{self._name}-{self._born}")
                self._hold_nothing()

    async def _names(self) -> dict[Uuid, str]:
        """Of the topics, by their ids."""
        while len(self._ids) < len(self._topics):
            wanted = [MetadataRequestTopic(name=name) for name in self._topics]
            request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
            answer = await self._data.ask(request, METADATA, MetadataResponse)
            if answer is not None:
                known = [each for each in answer.topics if not each.error_code]
                self._ids = {each.name or "": each.topic_id for each in known}
        return {topic_id: name for name, topic_id in self._ids.items()}

    def _has_all(self) -> bool:
        return self._is_settled(SETTLED_MS) and super()._has_all()

    async def _beat(self) -> None:
        """Say what is owned, and do what is told: nothing is read any more that is to be given up,
        from the moment that it is known."""
        owned: dict[Uuid, list[int]] = {}
        for owns in sorted(self._positions, key=str):
            owned.setdefault(self._ids[owns.topic], []).append(owns.partition)
        answer = await self._talk.beat(self._topics, {} if not self._talk.epoch else owned)
        if answer is None:
            return
        if answer.assignment is None:
            self._hold(self._heard_of_ms)
            return
        names = await self._names()
        told = {
            TopicPartition(names[part.topic_id], index)
            for part in answer.assignment.topic_partitions
            if part.topic_id in names
            for index in part.partitions
        }
        self._tell_held(tuple(sorted(told, key=str)), self._heard_of_ms)
        gone = {p: at for p, at in self._positions.items() if p not in told}
        self._positions = {p: at for p, at in self._positions.items() if p in told}
        self._at_end &= told
        if gone:
            await self._talk.commit(gone)
        for partition in sorted(told - self._positions.keys(), key=str):
            committed = await self._talk.committed(partition)
            self._positions[partition] = 0 if committed is None else committed
            self._readers[partition] = Reader(self._world, self._data, partition)

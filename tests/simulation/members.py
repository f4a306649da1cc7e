"""A consumer in a group, that does what real ones do: it joins, is given partitions or gives them
out, resumes, reads, commits, keeps its session alive, and leaves, or dies without a word."""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.embedded import read_assignment, write_assignment
from kafkalite.protocol.messages.join_group import JoinGroupResponse
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.testing.observations import MemberAssigned, MemberHolds
from kafkalite.types import TopicPartition
from tests.coordinator.sample_migrations import subscription_bytes
from tests.simulation.consumers import OffsetGoneError, Reader
from tests.simulation.group_calls import (
    SESSION_TIMEOUT_MS,
    GroupCalls,
    LostPlaceError,
    RebalanceError,
)
from tests.simulation.world import BACKOFF_MS, World

HEARTBEAT_MS = 1_500
ASSIGNMENT_VERSION = 3
PAUSE_MS = (3_000, 15_000)
"""A member that is held up may miss a heartbeat, or its session."""


class Member:
    """One after the other, several consumers of that name."""

    session_ms = SESSION_TIMEOUT_MS
    pace_ms = (100, 800)
    """Between two things that it does."""

    def __init__(
        self,
        world: World,
        name: str,
        group: str,
        topics: tuple[str, ...],
        *,
        is_static: bool = False,
    ) -> None:
        """A static one comes back to its old place, whoever it is by then."""
        self._world = world
        self._name = name
        self._instance_id = name if is_static else None
        self._dice = world.dice(name)
        self._topics = topics
        self._calls = GroupCalls(world, name, group, instance_id=self._instance_id)
        self._data = world.talker(name)
        self._readers: dict[TopicPartition, Reader] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._at_end: set[TopicPartition] = set()
        """Those that gave nothing more, when nobody wrote any more."""
        self._is_done = False
        self._quiet_from_ms: int | None = None
        self._heard_of_ms = 0
        """When the group last heard of this member."""
        world.nodes.add(name)

    async def run(self) -> None:
        while not await self.live():
            pass

    async def live(self) -> bool:
        """As one consumer. Whether it was the last one."""
        await self._live()
        self._hold_nothing()
        self._calls.hang_up()
        self._data.hang_up()
        await self._world.sleep(self._dice.between(0, 3_000))
        return self._is_done

    def _hold(self, asked_ms: int) -> None:
        """Read these positions, for as long as the session lasts of who asked then, at least."""
        self._tell_held(tuple(sorted(self._positions, key=str)), asked_ms)

    def _hold_nothing(self) -> None:
        self._positions.clear()
        self._tell_held((), self._world.clock.now_ms())

    def _tell_held(self, partitions: tuple[TopicPartition, ...], asked_ms: int) -> None:
        until_ms = asked_ms + self.session_ms
        now_ms = self._world.clock.now_ms()
        if now_ms >= until_ms:
            partitions = ()  # The answer came late: others may have them by now.
        self._world.tell(MemberHolds(self._calls.group, self._name, partitions, now_ms, until_ms))

    async def _live(self) -> None:
        """From the first join to a leave, or to a silent death."""
        self._calls.forget_membership()
        while True:
            try:
                await self._join()
                await self._work()
                return
            except RebalanceError:
                await self._commit_if_let()
            except LostPlaceError:
                self._calls.forget_membership()

    async def _join(self) -> None:
        """Until this member has its share of a generation, and knows where to go on."""
        self._hold_nothing()
        metadata = subscription_bytes(self._topics, {})
        while True:
            asked_ms = self._world.clock.now_ms()
            joined = await self._calls.join(metadata)
            assignments = _assign(joined, self._world.topics, self._topics)
            self._heard_of_ms = self._world.clock.now_ms()
            assignment = await self._calls.sync(joined, assignments)
            if assignment is not None:
                break
        share = _partitions_of(assignment)
        if joined.leader:  # Else the coordinator assigns, bit by bit in one generation.
            who = self._instance_id or joined.member_id
            self._world.tell(MemberAssigned(self._calls.group, joined.generation_id, who, share))
        # A session begins with the generation, and not anew with a SyncGroup of a stable group.
        self._tell_held(share, asked_ms)
        for partition in share:
            committed = await self._calls.committed(partition)
            self._positions[partition] = 0 if committed is None else committed
            self._readers[partition] = Reader(self._world, self._data, partition)

    async def _work(self) -> None:
        """Until this consumer comes to its end, in one way or the other. When nobody writes any
        more, that is when it has read and committed all of its share."""
        self._at_end.clear()
        while not (self._world.is_quiet and self._has_all()):
            if not self._world.is_ending and self._dice.chance(0.01):
                return  # The group will notice when the session is over.
            if not self._world.is_ending and self._dice.chance(0.01):
                break
            if not self._world.is_ending and self._dice.chance(0.01):
                await self._world.sleep(self._dice.between(*PAUSE_MS))
            await self._work_a_bit()
        while self._positions and not await self._calls.commit(self._positions):
            pass
        self._hold_nothing()
        await self._calls.leave()
        self._is_done = self._world.is_quiet

    def _has_all(self) -> bool:
        """Whether this consumer has come to the end of its share."""
        return self._at_end >= self._positions.keys()

    def _is_settled(self, settled_ms: int) -> bool:
        """Whether nobody writes any more for so long."""
        now_ms = self._world.clock.now_ms()
        if self._quiet_from_ms is None:
            self._quiet_from_ms = now_ms
        return now_ms >= self._quiet_from_ms + settled_ms

    async def _work_a_bit(self) -> None:
        if self._positions:
            partition = self._dice.one_of(sorted(self._positions, key=str))
            await self._read(partition)
            if self._dice.chance(0.5):
                await self._commit()
        now_ms = self._world.clock.now_ms()
        if now_ms >= self._heard_of_ms + HEARTBEAT_MS:
            self._heard_of_ms = now_ms
            await self._beat()
        await self._world.sleep(self._dice.between(*self.pace_ms))

    async def _beat(self) -> None:
        if await self._calls.heartbeat():
            self._hold(self._heard_of_ms)

    async def _read(self, partition: TopicPartition) -> None:
        try:
            seen = await self._readers[partition].fetch(self._positions[partition], max_bytes=2_000)
        except OffsetGoneError:
            self._positions[partition] = await self._readers[partition].start()
            return
        if seen is not None:
            if self._world.is_quiet and not seen.data:
                self._at_end.add(partition)
            for _, header in iter_headers(seen.data):
                self._positions[partition] = header.next_offset

    async def _commit(self) -> None:
        if self._positions:
            await self._calls.commit(self._positions)

    async def _commit_if_let(self) -> None:
        """What was read, before another reads on."""
        try:
            await self._commit()
        except RebalanceError:
            pass  # Too late: it will be read again.
        except LostPlaceError:
            self._calls.forget_membership()
        await self._world.sleep(BACKOFF_MS)


def _assign(
    joined: JoinGroupResponse, topics: dict[str, int], subscribed: tuple[str, ...]
) -> dict[str, bytes]:
    """For the leader: all partitions, dealt out in turn."""
    if not joined.members:
        return {}
    members = sorted(member.member_id for member in joined.members)
    shares: dict[str, dict[str, list[int]]] = {member: {} for member in members}
    partitions = [(name, index) for name in subscribed for index in range(topics[name])]
    for number, (name, index) in enumerate(partitions):
        shares[members[number % len(members)]].setdefault(name, []).append(index)
    return {member: write_assignment(share, ASSIGNMENT_VERSION) for member, share in shares.items()}


def _partitions_of(assignment: bytes) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(part.topic, index)
        for part in read_assignment(assignment).assigned_partitions
        for index in part.partitions
    )

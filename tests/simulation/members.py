"""A consumer in a group, that does what real ones do: it joins, is given partitions or gives them
out, resumes, reads, commits, keeps its session alive, and leaves, or dies without a word."""

from __future__ import annotations

from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafkalite.protocol.messages.join_group import JoinGroupResponse
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.testing.observations import MemberAssigned
from kafkalite.types import TopicPartition
from tests.simulation.consumers import OffsetGoneError, Reader
from tests.simulation.group_calls import GroupCalls, LostPlaceError, RebalanceError
from tests.simulation.world import BACKOFF_MS, Talker, World

HEARTBEAT_MS = 1_500


class Member:
    """One after the other, several consumers of that name."""

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
        self._instance_id = name if is_static else None
        self._dice = world.dice(name)
        self._topics = topics
        self._calls = GroupCalls(world, name, group, instance_id=self._instance_id)
        self._data = Talker(world, name)
        self._readers: dict[TopicPartition, Reader] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._at_end: set[TopicPartition] = set()
        """Those that gave nothing more, when nobody wrote any more."""
        self._is_done = False
        self._heard_of_ms = 0
        """When the group last heard of this member."""
        world.nodes.add(name)

    async def run(self) -> None:
        while not self._is_done:
            await self._live()
            self._calls.hang_up()
            self._data.hang_up()
            await self._world.sleep(self._dice.between(0, 3_000))

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
        self._positions.clear()
        subscription = ConsumerProtocolSubscription(topics=list(self._topics))
        metadata = b"\0\0" + bytes(encode(subscription, 0))
        while True:
            joined = await self._calls.join(metadata)
            assignments = _assign(joined, self._world.topics, self._topics)
            assignment = await self._calls.sync(joined, assignments)
            if assignment is not None:
                break
        share = _partitions_of(assignment)
        who = self._instance_id or joined.member_id
        self._world.tell(MemberAssigned(self._calls.group, joined.generation_id, who, share))
        self._heard_of_ms = self._world.clock.now_ms()
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
            await self._work_a_bit()
        while self._positions and not await self._calls.commit(self._positions):
            pass
        await self._calls.leave()
        self._is_done = self._world.is_quiet

    def _has_all(self) -> bool:
        """Whether this consumer has come to the end of its share."""
        return self._at_end >= self._positions.keys()

    async def _work_a_bit(self) -> None:
        if self._positions:
            partition = self._dice.one_of(sorted(self._positions, key=str))
            await self._read(partition)
            if self._dice.chance(0.5):
                await self._commit()
        if self._world.clock.now_ms() >= self._heard_of_ms + HEARTBEAT_MS:
            await self._beat()
            self._heard_of_ms = self._world.clock.now_ms()
        await self._world.sleep(self._dice.between(100, 800))

    async def _beat(self) -> None:
        await self._calls.heartbeat()

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
    shares: dict[str, list[str]] = {member: [] for member in members}
    partitions = [f"{name}:{index}" for name in subscribed for index in range(topics[name])]
    for number, partition in enumerate(partitions):
        shares[members[number % len(members)]].append(partition)
    return {member: " ".join(share).encode() for member, share in shares.items()}


def _partitions_of(assignment: bytes) -> tuple[TopicPartition, ...]:
    pairs = [text.split(":") for text in assignment.decode().split()]
    return tuple(TopicPartition(name, int(index)) for name, index in pairs)

"""Groups on a cluster of three brokers, whose coordinators fail over. Their members read nothing:
they count, and commit how far they are."""

from __future__ import annotations

from typing import TypeVar

from kafkalite.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition
from tests.simulation.cluster_clients import Connections
from tests.simulation.consumer_members import ConsumerMember
from tests.simulation.members import Member
from tests.simulation.world import BACKOFF_MS, REQUEST_TIMEOUT_MS, Talker, World

R = TypeVar("R", bound=Response)


class RoamingTalker(Talker):
    """Asks the coordinator that it was last told of, and any broker before."""

    def __init__(self, world: GroupsWorld, name: str, ids: tuple[int, ...]) -> None:
        super().__init__(world, name)
        self._ids = ids
        self._dice = world.dice(f"brokers of {name}")
        self._coordinator: int | None = None
        self._connections = Connections(world.simulation, name)

    async def ask(
        self, request: Request, version: int, response: type[R], *, timeout_ms: int | None = None
    ) -> R | None:
        id = self._coordinator
        if id is None or response is FindCoordinatorResponse:
            id = self._dice.one_of(self._ids)
        try:
            answer = await self._connections.ask(
                id, request, version, response, timeout_ms or REQUEST_TIMEOUT_MS
            )
        except (OSError, TimeoutError):
            await self._world.sleep(BACKOFF_MS)
            return None
        if isinstance(answer, FindCoordinatorResponse):
            (found,) = answer.coordinators
            self._coordinator = None if found.error_code else found.node_id
        return answer

    def hang_up(self) -> None:
        self._connections.hang_up()


class GroupsWorld(World):
    """Whose clients may ask any of these brokers."""

    def __init__(self, simulation: Simulation, ids: tuple[int, ...]) -> None:
        super().__init__(simulation)
        self._ids = ids

    def talker(self, name: str) -> Talker:
        return RoamingTalker(self, name, self._ids)


class _Counting(Member):
    """Each look at a partition finds another record, until nobody writes any more."""

    async def _read(self, partition: TopicPartition) -> None:
        if self._world.is_quiet:
            self._at_end.add(partition)
        else:
            self._positions[partition] += 1


class CountingMember(_Counting):
    """Of the classic protocol."""


class CountingConsumer(_Counting, ConsumerMember):
    """Of the new protocol (KIP-848)."""


class SlowMember(CountingMember):
    """One of many."""

    pace_ms = (500, 2_000)


class SlowConsumer(CountingConsumer):
    """One of many."""

    pace_ms = SlowMember.pace_ms

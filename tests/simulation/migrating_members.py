"""A consumer that changes over between the protocols of groups: each time that it starts anew it
speaks the classic one or the new one (KIP-848), as the dice have it, so that its group is upgraded
and downgraded, and has members of both."""

from __future__ import annotations

from tests.simulation.consumer_members import SETTLED_MS, ConsumerMember
from tests.simulation.group_calls import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS
from tests.simulation.members import Member
from tests.simulation.world import World

assert REBALANCE_TIMEOUT_MS > SESSION_TIMEOUT_MS, "see `ConsumerMember.session_ms`"


class PatientMember(Member):
    """Of the classic protocol. In a consumer group its share grows while it is in."""

    def _has_all(self) -> bool:
        return self._is_settled(SETTLED_MS) and super()._has_all()


class MigratingMember:
    """One after the other, several consumers of that name."""

    def __init__(self, world: World, name: str, group: str, topics: tuple[str, ...]) -> None:
        self._dice = world.dice(f"protocols of {name}")
        self._kinds = (
            PatientMember(world, name, group, topics),
            ConsumerMember(world, name, group, topics),
        )

    async def run(self) -> None:
        while not await self._dice.one_of(self._kinds).live():
            pass

"""What everybody in a simulation of transactions shares, and how its clients ask whoever is to be
asked: a leader, or a coordinator, each of which may be another broker by the next time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.schema import Request, Response
from kafkalite.testing.checkers import Checker, ViolationError
from kafkalite.testing.observations import Observation
from kafkalite.testing.simulation import Simulation
from kafkalite.testing.transaction_checkers import (
    NothingIsSeenTwice,
    OffsetsFollowTransactions,
    OnlyCommittedIsSeen,
    StaleProducersAreRefused,
    TransactionsAreWhole,
)
from kafkalite.types import TopicPartition
from tests.simulation.cluster_clients import BACKOFF_MS, ClusterTalker, ClusterWorld
from tests.simulation.cluster_machines import Machines
from tests.simulation.world import Dice, judge

R = TypeVar("R", bound=Response)
GROUP, TRANSACTION = 0, 1
"""Types of keys that have a coordinator."""
_AGAIN = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
}


class TransactionWorld(ClusterWorld):
    """One run."""

    def __init__(self, simulation: Simulation, machines: Machines) -> None:
        super().__init__(simulation, machines)
        self.checkers: list[Checker] = [
            OnlyCommittedIsSeen(),
            NothingIsSeenTwice(),
            TransactionsAreWhole(),
            StaleProducersAreRefused(),
            OffsetsFollowTransactions(),
        ]
        self._tokens = 0

    def token(self) -> int:
        """A number that nobody else has."""
        self._tokens += 1
        return self._tokens

    def tell(self, seen: Observation) -> None:
        """Have everyone judge what was seen."""
        judge(self.checkers, seen)


class TransactionTalker(ClusterTalker):
    """One client's connections, and where it takes coordinators to be."""

    def __init__(self, world: TransactionWorld, name: str, dice: Dice) -> None:
        super().__init__(world, name, dice)
        self.world: TransactionWorld = world
        self._coordinators: dict[tuple[int, str], int] = {}

    async def ask_leader(
        self,
        partition: TopicPartition,
        request: Callable[[], Request],
        version: int,
        response: type[R],
        code_of: Callable[[R], int],
    ) -> R:
        """The first answer without an error of whoever leads; `request` is made anew each time.
        `ViolationError` for an error that nothing excuses."""
        while True:
            found = self.leader_of(partition)
            if found is None:
                await self.world.sleep(BACKOFF_MS)
                continue
            answer = await self.ask(found[0], request(), version, response)
            if answer is not None and await self._is_good(answer, code_of(answer)):
                return answer

    async def ask_coordinator(
        self,
        type: int,
        key: str,
        request: Request,
        version: int,
        response: type[R],
        code_of: Callable[[R], int],
    ) -> R:
        """As `ask_leader`, of whoever coordinates what `key` names."""
        while True:
            id = await self.coordinator(type, key)
            answer = None if id is None else await self.ask(id, request, version, response)
            if answer is not None and await self._is_good(answer, code_of(answer)):
                return answer
            self._coordinators.pop((type, key), None)

    async def _is_good(self, answer: Response, told: int) -> bool:
        code = ErrorCode(told)
        if code is ErrorCode.NONE:
            return True
        if code not in _AGAIN:
            raise ViolationError(f"{self.name}: {type(answer).__name__} gave {code.name}")
        await self.world.sleep(BACKOFF_MS)
        return False

    async def coordinator(self, type: int, key: str) -> int | None:
        """As it was told last, or now; None when nobody can tell now."""
        known = self._coordinators.get((type, key))
        lives = sorted(self.world.machines.lives)
        if known is not None or not lives:
            return known
        request = FindCoordinatorRequest(key_type=type, key=key)
        answer = await self.ask(self.dice.one_of(lives), request, 3, FindCoordinatorResponse)
        if answer is None or not await self._is_good(answer, answer.error_code):
            return None
        self._coordinators[type, key] = answer.node_id
        return answer.node_id

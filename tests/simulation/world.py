"""What everybody in a simulation shares: time, network, dice, judges, and what is known to all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafkalite.errors import ProtocolError
from kafkalite.ports.entropy import Entropy, SeededEntropy
from kafkalite.ports.network import Address
from kafkalite.protocol.schema import Request, Response
from kafkalite.testing.checkers import Checker, ProducerIdsAreUnique, TopicsStay, ViolationError
from kafkalite.testing.client import Client
from kafkalite.testing.group_checkers import (
    CommitsAreKept,
    EachPartitionHasOneOwner,
    NobodyReadsWhatAnotherHolds,
    OldGenerationsAreRefused,
)
from kafkalite.testing.observations import (
    DeletionSent,
    Observation,
    PowerLost,
    RecordsDeleted,
    TopicDeleted,
    TopicSeen,
)
from kafkalite.testing.record_checkers import (
    AcknowledgedRecordsSurvive,
    DeletedRecordsStayAway,
    EachRecordInOrder,
    HighWatermarkNeverFalls,
    OffsetsHaveNoHoles,
    ReadsAreStable,
)
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition, Uuid

R = TypeVar("R", bound=Response)
T = TypeVar("T")

BROKER = Address("broker", 9092)
REQUEST_TIMEOUT_MS = 5_000
BACKOFF_MS = 100


class Dice:
    """Choices of one actor, which do not depend on how often others throw."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def between(self, least: int, most: int) -> int:
        """Both inclusive."""
        return least + int(self._entropy.random() * (most - least + 1))

    def chance(self, probability: float) -> bool:
        return self._entropy.random() < probability

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.between(0, len(choices) - 1)]


def dice_of(simulation: Simulation, actor: str) -> Dice:
    """The same for the same seed and actor."""
    digest = hashlib.sha256(f"{simulation.seed} {actor}".encode()).digest()
    return Dice(SeededEntropy(int.from_bytes(digest[:8], "big")))


class World:
    """One run."""

    def __init__(self, simulation: Simulation, *, forgives_deaths: bool = False) -> None:
        """`forgives_deaths`: see `NobodyReadsWhatAnotherHolds`."""
        self.simulation = simulation
        self.clock = simulation.clock
        self.checkers: list[Checker] = [
            AcknowledgedRecordsSurvive(),
            EachRecordInOrder(),
            HighWatermarkNeverFalls(),
            OffsetsHaveNoHoles(),
            ReadsAreStable(),
            ProducerIdsAreUnique(),
            TopicsStay(),
            DeletedRecordsStayAway(),
            EachPartitionHasOneOwner(),
            NobodyReadsWhatAnotherHolds(forgives_deaths=forgives_deaths),
            OldGenerationsAreRefused(),
            CommitsAreKept(),
        ]
        self.nodes: set[str] = set()
        """Of all clients but the inspector."""
        self.topics: dict[str, int] = {}
        """Name and number of partitions of those that there should be."""
        self.topic_ids: dict[str, Uuid] = {}
        """As last seen."""
        self.deleted: dict[TopicPartition, int] = {}
        """Below these offsets records may be deleted."""
        self.is_ending = False
        """Nothing bad happens any more: producers finish what they have begun, others read on."""
        self.is_quiet = False
        """Nobody writes any more."""
        self.read_to: list[tuple[TopicPartition, int]] = []
        """How far those came who read on to the end."""
        self.lives = 0
        """How often the broker was started."""
        self.power_losses = 0
        self.era = 0
        """What a client hears of an earlier one is no news: the power was lost since, or something
        was deleted."""
        self._tokens = 0

    def dice(self, actor: str) -> Dice:
        """See `dice_of`."""
        return dice_of(self.simulation, actor)

    def talker(self, name: str) -> Talker:
        """How a client of that name asks."""
        return Talker(self, name)

    def token(self) -> int:
        """A name for a question."""
        self._tokens += 1
        return self._tokens

    def tell(self, seen: Observation) -> None:
        """Have everyone judge what was seen."""
        if isinstance(seen, PowerLost | TopicDeleted | DeletionSent | RecordsDeleted):
            self.era += 1
            self.power_losses += isinstance(seen, PowerLost)
        if isinstance(seen, TopicSeen) and seen.topic_id is not None:
            self.topic_ids[seen.topic] = seen.topic_id
        if isinstance(seen, DeletionSent):
            self.deleted[seen.partition] = max(seen.offset, self.deleted.get(seen.partition, 0))
        judge(self.checkers, seen)

    def say(self, text: str) -> None:
        self.simulation.trace.add(text)

    async def sleep(self, ms: int) -> None:
        await self.simulation.sleep(ms)


def judge(checkers: Iterable[Checker], seen: Observation) -> None:
    """Have all of them see it; who objects is named."""
    for checker in checkers:
        try:
            checker.see(seen)
        except ViolationError as violation:
            violation.add_note(f"seen by {type(checker).__name__}")
            raise


class Talker:
    """How a client asks: it connects where it has to, waits so long and no longer, and hangs up on
    trouble, as real ones do."""

    def __init__(self, world: World, name: str, *, timeout_ms: int = REQUEST_TIMEOUT_MS) -> None:
        self._world = world
        self._name = name
        self._node = world.simulation.network.node(name)
        self._client: Client | None = None
        self._timeout_ms = timeout_ms

    async def client(self) -> Client | None:
        """A connection; None when there is none to be had now."""
        if self._client is None:
            clock = self._world.clock
            connecting = Client.connect(self._node, BROKER, self._name)
            try:
                self._client = await clock.wait(connecting, clock.now_ms() + self._timeout_ms)
            except (OSError, TimeoutError):
                await self._world.sleep(BACKOFF_MS)
                return None
        return self._client

    async def ask(
        self, request: Request, version: int, response: type[R], *, timeout_ms: int | None = None
    ) -> R | None:
        """The answer; None when nobody knows what became of the request."""
        client = await self.client()
        if client is None:
            return None
        clock, was_calm = self._world.clock, self._world.is_ending
        until_ms = clock.now_ms() + (timeout_ms or self._timeout_ms)
        try:
            return await clock.wait(client.send(request, version, response), until_ms)
        except ProtocolError as error:
            raise ViolationError(f"an answer that cannot be read: {error}") from error
        except (OSError, TimeoutError) as error:
            if was_calm and isinstance(error, TimeoutError):
                raise ViolationError(
                    f"no answer to {type(request).__name__}, with nothing in its way"
                ) from error
            self.hang_up()
            await self._world.sleep(BACKOFF_MS)
            return None

    def hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

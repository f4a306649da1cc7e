"""Any history of transactional producers, plain ones, restarts and the end of the process, against
a list: after each step a reader of what is committed sees what the list has, in its order, and no
more; and everybody sees all that was acknowledged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.testing.simulation import Simulation, run
from tests.server.group_requests import find
from tests.server.running import Running, end_process, make
from tests.server.transactions import TransactionalProducer, committed_offset, latest, seen

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
IDS = ("x", "y")
TIMEOUT_MS = 60_000
Fate = Literal["open", "committed", "aborted"]

steps = st.one_of(
    st.tuples(st.sampled_from(["begin", "begin", "write", "write", "write"]), st.sampled_from(IDS)),
    st.tuples(st.sampled_from(["commit", "abort", "offset"]), st.sampled_from(IDS)),
    st.tuples(st.sampled_from(["plain", "stop", "kill", "timeout"]), st.just("")),
)


@dataclass
class Transaction:
    fate: Fate = "open"
    offset: int | None = None
    """Of the group, that counts once it commits."""


@dataclass
class Model:
    entries: list[tuple[bytes, Transaction | None]] = field(default_factory=list)
    """Every record but the markers, and the transaction that it is of."""
    open: dict[str, Transaction] = field(default_factory=dict)
    offset: int = -1

    def stable(self) -> list[bytes]:
        """What a reader of what is committed sees: nothing behind an open transaction's first."""
        found = []
        for value, transaction in self.entries:
            if transaction is not None and transaction.fate == "open":
                break
            if transaction is None or transaction.fate == "committed":
                found.append(value)
        return found

    def end(self, id: str, fate: Fate) -> None:
        transaction = self.open.pop(id, None)
        if transaction is None:
            return
        transaction.fate = fate
        if fate == "committed" and transaction.offset is not None:
            self.offset = transaction.offset


class History:
    """A broker that may end and begin again, its clients, and the model."""

    def __init__(self, simulation: Simulation, *, bumps: bool) -> None:
        self.simulation = simulation
        self.bumps = bumps
        self.files = MemoryFiles(models_crashes=True)
        self.model = Model()
        self.producers: dict[str, TransactionalProducer] = {}
        self.values = 0
        self.running: Running

    async def live(self) -> None:
        broker = make(self.simulation, self.files, settings=SETTINGS)
        await broker.__aenter__()
        self.running = Running(self.simulation, broker, self.files)
        await self.running.wait_ms(1)
        for producer in self.producers.values():
            producer.running = self.running

    async def end(self, *, is_clean: bool) -> None:
        broker = self.running.broker
        if is_clean:
            await broker.__aexit__(None, None, None)
        else:
            end_process(self.simulation, broker)

    async def take(self, step: str, id: str) -> None:
        model, producer = self.model, self.producers.get(id)
        if step == "begin":
            model.end(id, "aborted")
            self.producers[id] = await TransactionalProducer.begin(
                self.running, id, timeout_ms=TIMEOUT_MS, bumps=self.bumps
            )
        elif step == "plain":
            model.entries.append((self.next_value(), None))
            await self.running.produce("topic", model.entries[-1][0])
        elif step in ("stop", "kill"):
            await self.end(is_clean=step == "stop")
            await self.live()
        elif step == "timeout":
            await self.running.wait_ms(TIMEOUT_MS + 2)
            for ended in list(model.open):
                model.end(ended, "aborted")
                del self.producers[ended]  # Fenced: it must begin anew.
        elif producer is not None:
            await self.of_producer(step, id, producer)

    async def of_producer(self, step: str, id: str, producer: TransactionalProducer) -> None:
        model = self.model
        if step == "write":
            transaction = model.open.setdefault(id, Transaction())
            model.entries.append((self.next_value(), transaction))
            await producer.write("topic", model.entries[-1][0])
        elif step == "offset":
            transaction = model.open.setdefault(id, Transaction())
            transaction.offset = len(model.entries)
            if not self.bumps:
                assert await producer.add_offsets() is ErrorCode.NONE
            assert await producer.commit_offset("topic", transaction.offset) is ErrorCode.NONE
        elif id in model.open:
            assert await producer.end(commits=step == "commit") is ErrorCode.NONE
            model.end(id, "committed" if step == "commit" else "aborted")

    def next_value(self) -> bytes:
        self.values += 1
        return b"value %d" % self.values

    async def check(self) -> None:
        running, model = self.running, self.model
        assert await seen(running, "topic") == model.stable()
        everything = [value for value in await running.read("topic") if value[:5] == b"value"]
        assert everything == [value for value, _ in model.entries]
        end = await latest(running, "topic", committed=False)
        has_open = any(each is not None and each.fate == "open" for _, each in model.entries)
        assert (await latest(running, "topic", committed=True) == end) is not has_open
        unstable = any(each.offset is not None for each in model.open.values())
        expected = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT) if unstable else (model.offset, 0)
        assert await committed_offset(running) == expected


@settings(max_examples=40, deadline=None)
@given(history=st.lists(steps, max_size=25), bumps=st.booleans())
def test_a_reader_of_what_is_committed_sees_just_that(
    history: list[tuple[str, str]], bumps: bool
) -> None:
    async def main(simulation: Simulation) -> None:
        world = History(simulation, bumps=bumps)
        await world.live()
        await world.running.create("topic")
        await find(world.running)
        for step, id in history:
            await world.take(step, id)
            await world.check()
        await world.end(is_clean=True)

    run(main, seed=1)

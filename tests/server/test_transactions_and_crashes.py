"""A transaction over two partitions and a group, with the process ended after each append that the
broker makes: enumerated, none left out. Whoever reads what is committed sees all of it or nothing,
and the next life finishes what was decided."""

from __future__ import annotations

import copy

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_results import Appended
from kafkalite.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalite.server.partition import Partition
from kafkalite.testing.simulation import Simulation, run
from tests.coordinator.transactions.turned_decisions import turn_decisions
from tests.server.group_requests import find
from tests.server.running import Running, crashed, start
from tests.server.transactions import ID, TransactionalProducer, committed_offset, init, seen

OFFSET = 5
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


async def live(running: Running, *, commits: bool, bumps: bool) -> None:
    """One transaction, after one that is over."""
    await running.create("a")
    await running.create("b")
    await find(running)
    before = await TransactionalProducer.begin(running, "before", bumps=bumps)
    await before.write("a", b"old")
    await before.end(commits=True)
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    await producer.write("a", b"new")
    sequence, producer.sequence = producer.sequence, 0
    await producer.write("b", b"new")
    producer.sequence = sequence
    if not bumps:
        assert await producer.add_offsets() is ErrorCode.NONE
    assert await producer.commit_offset("a", OFFSET) is ErrorCode.NONE
    assert await producer.end(commits=commits) is ErrorCode.NONE


def ended_after_each_append(*, commits: bool, bumps: bool) -> list[tuple[str, MemoryFiles]]:
    """The topic of each append, and what the disk holds when the process ends right behind it."""
    ends: list[tuple[str, MemoryFiles]] = []

    async def main(simulation: Simulation) -> None:
        files = MemoryFiles(models_crashes=True)
        append = Partition.append

        def append_and_copy(partition: Partition, *args: object, **settings: object) -> Appended:
            appended: Appended = append(partition, *args, **settings)  # type: ignore[arg-type]  # As it was called.
            copied = copy.deepcopy(files)
            copied._locks.clear()
            ends.append((partition.topic, copied))
            return appended

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Partition, "append", append_and_copy)
            async with crashed(simulation, files, settings=SETTINGS) as running:
                await live(running, commits=commits, bumps=bumps)

    run(main, seed=1)
    return ends


async def refuses_zombies(running: Running, given: InitProducerIdResponse, *, bumps: bool) -> None:
    """Nothing of any epoch before the one that was just given is written."""
    for epoch in range(given.producer_epoch):
        zombie = TransactionalProducer(running, ID, given.producer_id, epoch, bumps, sequence=1)
        for topic in ("a", "b"):
            assert await zombie.send(topic, b"stale") is ErrorCode.INVALID_PRODUCER_EPOCH
            assert b"stale" not in await running.read(topic)
        code = await zombie.commit_offset("a", OFFSET + 1)
        assert code is ErrorCode.INVALID_PRODUCER_EPOCH


async def found(running: Running) -> tuple[bool, bool, bool]:
    """Whether a reader of what is committed sees the record in `a`, the one in `b`, the offset."""
    offset, code = await committed_offset(running, topic="a")
    assert code is ErrorCode.NONE, code
    in_a, in_b = await seen(running, "a"), await seen(running, "b")
    assert in_a in ([b"old"], [b"old", b"new"], [])
    assert in_b in ([], [b"new"])
    return b"new" in in_a, b"new" in in_b, offset == OFFSET


@pytest.mark.parametrize("bumps", [False, True])
@pytest.mark.parametrize("commits", [False, True])
def test_all_or_nothing_after_the_end_of_the_process_at_any_append(
    commits: bool, bumps: bool
) -> None:
    outcomes: list[tuple[str, tuple[bool, bool, bool]]] = []
    epochs: list[int] = []
    for topic, files in ended_after_each_append(commits=commits, bumps=bumps):

        async def main(
            simulation: Simulation, topic: str = topic, files: MemoryFiles = files
        ) -> None:
            async with start(simulation, files, settings=SETTINGS) as running:
                await running.wait_ms(1)
                if not {"a", "b"} <= running.broker.image.topics.keys():
                    return
                await find(running)
                given = await init(running)  # Aborts what is open; what is prepared is done by now.
                if given.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
                    given = await init(running)
                assert given.error_code in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR), given
                await refuses_zombies(running, given, bumps=bumps)
                epochs.append(given.producer_epoch)
                outcomes.append((topic, await found(running)))

        run(main, seed=1)
    assert max(epochs) > 0, "there was a producer before"
    assert {each for _, each in outcomes} == (
        {(False, False, False), (True, True, True)} if commits else {(False, False, False)}
    )
    decided = [each for _, each in outcomes].index((True, True, True)) if commits else None
    if decided is not None:
        assert outcomes[decided][0] == "__transaction_state"
        assert [topic for topic, _ in outcomes[decided:]] == [
            "__transaction_state",
            "__consumer_offsets",
            "a",
            "b",
            "__transaction_state",
        ], "from the decision on all is seen"
        assert all(all(each) for _, each in outcomes[decided:])


def test_it_would_notice_a_decision_that_the_next_life_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn_decisions(monkeypatch)
    with pytest.raises(AssertionError):
        test_all_or_nothing_after_the_end_of_the_process_at_any_append(commits=True, bumps=True)

"""A session that reads what is due tells the same as one that reads all its partitions each time.

Two clients make the same requests, each in a session of its own; what happens between is random.
The second session takes all of its partitions for due, always: that is how Kafka does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.log_cuts import delete_records
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafkalite.replica.fetch_session import FetchSession, SessionPartition
from kafkalite.server.apis import fetch
from kafkalite.server.connection import ClientConnection
from kafkalite.server.purgatory import MakeAnswer, Parked
from kafkalite.server.request import RequestContext, Session
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import Offset
from tests.server.requests import batch
from tests.server.running import Running, start

NAMES = 12
TOPICS = ("a", "b")
PARTITIONS = 1
BATCH = len(batch(b"x"))

Place = tuple[str, int]
Told = list[tuple[str, int, int, int, int, int]]
"""Topic, partition, error code, high watermark, log start offset, bytes."""

places = st.tuples(st.sampled_from(TOPICS), st.integers(0, PARTITIONS - 1))
steps = st.one_of(
    st.tuples(st.just("append"), places),
    st.tuples(st.just("append"), places),
    st.tuples(st.just("trim"), places),
    st.tuples(st.just("follow"), places),
    st.tuples(st.just("seek"), places, st.integers(-1, 4)),
    st.tuples(st.just("forget"), places),
    st.tuples(st.just("renew"), st.sampled_from(TOPICS)),
    st.tuples(st.just("fetch"), st.sampled_from([1, 2 * BATCH, 1 << 20])),
    st.tuples(st.just("fetch"), st.sampled_from([1, 2 * BATCH, 1 << 20])),
    st.tuples(st.just("wait"), st.sampled_from([1, 2 * BATCH])),
)


class Asker:
    """One of the two clients."""

    def __init__(self, ctx: RequestContext) -> None:
        self.ctx = ctx
        self.session_id = 0
        self.epoch = 0
        self.told: list[Told] = []
        """What each request was told, in the order of the requests."""

    def ask(self, request: FetchRequest) -> None:
        request.session_id, request.session_epoch = self.session_id, self.epoch
        place = len(self.told)
        self.told.append([])
        answer = fetch.handle(self.ctx, request)
        if isinstance(answer, Parked):
            answer.then(lambda make: self._answered(place, make))
        else:
            self._hear(place, answer)
        self.epoch += 1

    def _answered(self, place: int, make: MakeAnswer) -> None:
        self._hear(place, cast("FetchResponse", make()))

    def _hear(self, place: int, response: FetchResponse) -> None:
        if response.session_id == 0:  # The last partition was forgotten: begin anew.
            self.epoch = -1
        self.session_id = response.session_id
        self.told[place] = [
            (
                topic.topic,
                data.partition_index,
                data.error_code,
                data.high_watermark,
                data.log_start_offset,
                len(data.records or b""),
            )
            for topic in response.responses
            for data in topic.partitions
        ]
        fetch.release(response)


@dataclass
class World:
    running: Running
    askers: Sequence[Asker]
    wishes: dict[Place, int] = field(default_factory=dict)
    """Offsets that the next request asks for."""
    forgotten: list[Place] = field(default_factory=list)

    async def step(self, kind: str, what: object, more: object = None) -> None:
        if kind in ("fetch", "wait"):
            assert isinstance(what, int)
            self.fetch(what, waits=kind == "wait")
            return
        if kind == "renew":
            # A wait would end with the first partition that goes, and tell of that one alone.
            self.fetch(1 << 20, waits=False)
            await self.running.delete(str(what))
            await self.running.create(str(what), PARTITIONS)
            return
        place = cast("Place", what)
        partition = self.running.partition(*place)
        match kind:
            case "append":
                await self.running.produce(place[0], b"x", partition=place[1])
            case "trim":
                delete_records(partition.log, partition.log.end_offset)
                partition.log_start_moved()
            case "follow":
                self.wishes[place] = partition.leading.high_watermark
            case "seek":
                assert isinstance(more, int)
                self.wishes[place] = Offset(more)
            case "forget":
                self.forgotten.append(place)

    def fetch(self, size: int, *, waits: bool) -> None:
        """Both ask; `size` is the least to wait for, or the most to be given."""
        if self.askers[0].epoch == 0:
            wishes = {(t, p): 0 for t in TOPICS for p in range(PARTITIONS)} | self.wishes
            self.forgotten.clear()
            waits = False
        else:
            wishes = self.wishes
        for asker in self.askers:
            asker.ask(
                FetchRequest(
                    max_wait_ms=1000 if waits else 0,
                    min_bytes=size if waits else 0,
                    max_bytes=1 << 20 if waits else size,
                    topics=[
                        FetchTopic(
                            topic=topic,
                            partitions=[
                                FetchPartition(
                                    partition=p, fetch_offset=offset, partition_max_bytes=1 << 20
                                )
                            ],
                        )
                        for (topic, p), offset in wishes.items()
                    ],
                    forgotten_topics_data=[
                        ForgottenTopic(topic=topic, partitions=[p]) for topic, p in self.forgotten
                    ],
                )
            )
        self.wishes.clear()
        self.forgotten.clear()


def connection_of_nobody() -> ClientConnection[Session]:
    """Asked for its session, and nothing else."""
    alone = SimpleNamespace(session=Session("", None))
    return cast("ClientConnection[Session]", alone)


@settings(max_examples=80, deadline=None)
@given(st.lists(steps, min_size=10, max_size=60))
def test_what_is_due_is_all_that_is_new(program: list[tuple[str, object]]) -> None:
    async def main(simulation: Simulation) -> None:
        async with start(simulation) as running:
            for topic in TOPICS:
                await running.create(topic, PARTITIONS)
            services = running.broker._services
            askers = [
                Asker(RequestContext(services, connection_of_nobody(), NAMES, 1, name))
                for name in ("due", "all")
            ]
            world = World(running, askers)
            in_turn = FetchSession.in_turn

            def in_turn_of_all(session: FetchSession) -> list[SessionPartition]:
                if session.id != askers[1].session_id:
                    return in_turn(session)
                return sorted(session.partitions.values(), key=lambda held: held.order)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(FetchSession, "in_turn", in_turn_of_all)
                world.fetch(1 << 20, waits=False)
                for step in program:
                    await world.step(*step)
                    assert askers[0].told == askers[1].told
                await running.wait_ms(2000)
                assert askers[0].told == askers[1].told

    run(main, seed=1)

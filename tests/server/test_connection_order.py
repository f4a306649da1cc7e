"""Whatever comes in whatever order, answers leave whole, once, and in the order of requests."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafkalite.server.answer_queue import REQUESTS_AHEAD, Pending
from kafkalite.server.connection import REQUESTS_A_TURN, Answer
from kafkalite.server.receive_buffer import BufferPool
from tests.server.connection_world import World, frame

NOW, NONE, PARK = b"n", b"0", b"p"


class ConnectionMachine(RuleBasedStateMachine):
    """Bytes arrive in pieces, parked requests are completed in any order, the peer stalls and
    drains."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.answer, pool=BufferPool(0))
        self.incoming = bytearray()
        """Sent by the client and not received yet."""
        self.sent: list[bytes] = []
        self.parked: dict[int, Pending] = {}
        self.completed: set[int] = set()
        self.blocked = False

    def answer(self, body: bytes) -> Answer:
        number = len(self.world.requests) - 1
        assert body == self.sent[number]
        if body[:1] == NOW:
            return [b"<%d" % number, b">"]
        if body[:1] == NONE:
            return None
        self.parked[number] = Pending()
        return self.parked[number]

    @rule(
        kind=st.sampled_from([NOW, NOW, NONE, PARK]),
        size=st.sampled_from([0, 10, 500, 5_000, 80_000]),
        count=st.integers(1, 20),
    )
    def send(self, kind: bytes, size: int, count: int) -> None:
        for _ in range(count):
            self.sent.append(kind + bytes(size))
            self.incoming += frame(self.sent[-1])

    @precondition(lambda self: not self.blocked)
    @rule(size=st.integers(1, 200_000))
    def arrive(self, size: int) -> None:
        handled = len(self.world.requests)
        while size > 0 and self.incoming and not self.world.link.paused:
            space = self.world.connection.space()
            piece = bytes(self.incoming[: min(size, len(space))])
            space[: len(piece)] = piece
            del self.incoming[: len(piece)]
            size -= len(piece)
            self.world.connection.filled(len(piece))
            assert len(self.world.requests) - handled <= REQUESTS_A_TURN
            handled = len(self.world.requests)

    @rule()
    def turn(self) -> None:
        self.world.next_turn()

    @precondition(lambda self: self.parked)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.parked)))
        handled = len(self.world.requests)
        self.completed.add(number)
        self.parked.pop(number).complete([b"<%d>" % number])
        assert len(self.world.requests) == handled

    @invariant()
    def answers_are_in_order(self) -> None:
        expected = []
        for number, body in enumerate(self.world.requests):
            if body[:1] == PARK and number not in self.completed:
                break
            if body[:1] != NONE:
                expected.append(b"<%d>" % number)
        assert b"".join(self.world.link.writes) == b"".join(expected)

    @invariant()
    def it_is_never_far_ahead(self) -> None:
        first = min(self.parked, default=None)
        if first is not None:
            ahead = [body for body in self.world.requests[first:] if body[:1] != NONE]
            assert len(ahead) <= REQUESTS_AHEAD

    def teardown(self) -> None:
        turns = 0
        while self.incoming or self.parked or self.world.soon:
            turns += 1
            assert turns < 10_000, "the connection is stuck"
            for number in sorted(self.parked):
                self.completed.add(number)
                self.parked.pop(number).complete([b"<%d>" % number])
            self.world.next_turn()
            self.arrive(10**6)
        assert self.world.requests == self.sent
        self.answers_are_in_order()
        assert self.world.pool.lent_bytes == 0


TestConnectionOrder = ConnectionMachine.TestCase
TestConnectionOrder.settings = settings(max_examples=200, stateful_step_count=25, deadline=None)

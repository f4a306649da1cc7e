"""Produces of a connection behind one that came before them and is not appended yet: a worker
recompresses it, or the coordinator of its transaction is asked elsewhere. They are appended in the
order in which they came, as idempotent producers need it. Other connections do not wait.

Source: in Kafka a connection's next request is taken up when the one before is answered
(`SocketServer`, which mutes the channel).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from kafkalite.errors import ProtocolError
from kafkalite.ports.clock import Clock
from kafkalite.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalite.server.kept_requests import with_own_records
from kafkalite.server.purgatory import Parked

Append = Callable[[ProduceRequest], "ProduceResponse | Parked | None"]


class Connection(Protocol):
    """Of a client; the same object for all its requests."""

    def close(self) -> None:
        """At once."""
        ...


class KeptProduce(NamedTuple):
    """A request that is carried out when its handler has returned, with records of its own."""

    connection: Connection
    request: ProduceRequest
    append: Append
    parked: Parked

    @staticmethod
    def of(
        connection: Connection, request: ProduceRequest, append: Append, clock: Clock
    ) -> KeptProduce:
        """Its answer has no deadline."""
        kept, parked = with_own_records(request), Parked.without_deadline(clock)
        return KeptProduce(connection, kept, append, parked)

    def carry_out(self) -> None:
        """What the client is told, it is told now, or when that is committed. One that has hung up
        has produced all the same."""
        try:
            answer = self.append(self.request)
        except ProtocolError:  # Of acks=0: closing is the only answer.
            self.parked.abandon()
            self.connection.close()
            return
        except Exception as error:  # noqa: BLE001  # The dispatcher maps it, as that of any handler.
            self.parked.complete(partial(_raise, error))
            return
        if isinstance(answer, Parked):
            answer.then(self.parked.complete)
        else:
            self.parked.complete(lambda: answer)


class _Line:
    """Those of one connection."""

    __slots__ = ("is_held", "waiting")

    def __init__(self) -> None:
        self.is_held = True
        self.waiting: deque[KeptProduce] = deque()


class ProduceOrder:
    """That of one broker's connections."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stopped = False
        self.lines: dict[Connection, _Line] = {}
        """Those in which something waits."""

    def hold(self, connection: Connection) -> None:
        """What it produces from now on waits for `go_on`."""
        line = self.lines.get(connection)
        if line is None:
            self.lines[connection] = _Line()
        else:
            assert not line.is_held, connection
            line.is_held = True

    def join(self, connection: Connection, request: ProduceRequest, append: Append) -> Parked:
        """The answer of one that has to wait in its connection's line; `append` may `hold` it."""
        kept = KeptProduce.of(connection, request, append, self._clock)
        self.lines[connection].waiting.append(kept)
        return kept.parked

    def go_on(self, first: KeptProduce) -> None:
        """Carry out what the connection was held for, which may hold it again, and what waits
        behind it."""
        if self._stopped:
            return
        line = self.lines[first.connection]
        line.is_held = False
        first.carry_out()
        while line.waiting and not line.is_held:
            line.waiting.popleft().carry_out()
        if not line.is_held:
            del self.lines[first.connection]

    def stop(self) -> None:
        """Nothing more is appended: the broker stops."""
        self._stopped = True


def _raise(error: Exception) -> None:
    raise error

"""A broker that is a machine in a test's hand: it notes what it is asked, and answers when told."""

from __future__ import annotations

from struct import unpack_from

from kafkalite.log.files import Part
from kafkalite.ports.network import Address, Link
from kafkalite.protocol.headers import response_frame
from kafkalite.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkalite.protocol.schema import Response
from kafkalite.testing.simulation import Simulation
from tests.server.running import PORT


class Accepted:
    """One connection at the other end: what was asked on it, and the answers by hand."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.asked: list[tuple[int, int, int]] = []
        """Key, version and correlation id."""
        self.is_closed = False
        self._space = memoryview(bytearray(1 << 16))
        self._received = b""

    def opened(self, link: Link) -> None:
        self.link = link

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        self._received += bytes(self._space[:size])
        while len(self._received) >= 4:
            (length,) = unpack_from(">i", self._received)
            if len(self._received) < 4 + length:
                break
            self.asked.append(unpack_from(">hhi", self._received, 4))
            self._received = self._received[4 + length :]

    def drained(self) -> None: ...

    def closed(self, error: OSError | None) -> None:
        self.is_closed = True

    def answer(self, response: Response) -> None:
        """The oldest request that is not answered."""
        _, version, correlation_id = self.asked.pop(0)
        parts: list[Part] = [
            bytes(part)
            for part in response_frame(response, version, correlation_id=correlation_id)
            if isinstance(part, (bytes, bytearray, memoryview))
        ]
        self.write(parts)

    def write(self, parts: list[Part]) -> None:
        assert self.link is not None
        self.link.write(parts)


class OtherBroker:
    """Listens where broker 1 is said to be; answers ApiVersions by itself unless told not to."""

    def __init__(self, simulation: Simulation, *, listed: dict[int, tuple[int, int]]) -> None:
        self.simulation = simulation
        self.connections: list[Accepted] = []
        self.listed = listed
        simulation.network.node("broker").listen("broker", PORT, self._accept)

    def _accept(self, peer: Address) -> Accepted:
        self.connections.append(Accepted())
        return self.connections[-1]

    async def turn(self, ms: int = 1) -> None:
        """Let happen what can; new connections are told the versions."""
        await self.simulation.sleep(ms)
        for each in self.connections:
            if each.asked and each.asked[0][0] == 18:
                each.answer(
                    ApiVersionsResponse(
                        api_keys=[
                            ApiVersion(api_key=key, min_version=least, max_version=most)
                            for key, (least, most) in self.listed.items()
                        ]
                    )
                )
        await self.simulation.sleep(1)

"""Slices of files that answers are made of: each is given back, sent or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files import Part
from kafkalite.log.files_os import OsFiles
from kafkalite.log.os_file import OsFile, OsSlice
from kafkalite.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.interceptor import Delay, Fault, LoseAnswer, Refuse
from kafkalite.server.request import RequestContext
from kafkalite.testing.simulation import Simulation
from tests.server.requests import fetch, fetched, values
from tests.server.running import FETCH, Running, simulated, start


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[OsSlice]:
    """All slices that were made."""
    slices: list[OsSlice] = []
    slice_of = OsFile.slice

    def lend(file: OsFile, position: int, size: int) -> Part:
        part = slice_of(file, position, size)
        assert isinstance(part, OsSlice)
        slices.append(part)
        return part

    monkeypatch.setattr(OsFile, "slice", lend)
    return slices


class Fetches:
    """One fault for all fetches; may spoil their answers."""

    def __init__(self, fault: Fault | None = None, *, spoils: bool = False) -> None:
        self.fault = fault
        self.spoils = spoils

    def request(self, ctx: RequestContext, request: Request) -> Fault | None:
        return self.fault if isinstance(request, FetchRequest) else None

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None:
        if self.spoils and isinstance(response, FetchResponse):
            response.session_id = 1 << 40


def given_back(lent: list[OsSlice]) -> list[bool]:
    return [part._file is None for part in lent]


async def sent(running: Running) -> None:
    assert await running.read("t") == [b"x"]


async def waiting(running: Running) -> None:
    """Some bytes are there when it comes, too few; then time runs out."""
    client = await running.client()
    request = fetch("t", {0: 0, 1: 0}, max_wait_ms=100, min_bytes=1 << 20)
    answer = client.send(request, FETCH, FetchResponse)
    await running.wait_ms(200)
    assert values(fetched(answer.result())[0]) == [b"x"]


async def lost(running: Running) -> None:
    with pytest.raises(ConnectionError):
        await running.read("t")


async def gone(running: Running) -> None:
    """The client leaves while its answer is held back."""
    client = await running.connect("leaving")
    client.send(fetch("t", {0: 0}), FETCH, FetchResponse)
    await running.wait_ms(10)
    client.close()
    await running.wait_ms(1000)


async def refused(running: Running, code: ErrorCode = ErrorCode.POLICY_VIOLATION) -> None:
    client = await running.client()
    response = await client.ask(fetch("t", {0: 0}), FETCH, FetchResponse)
    assert response.error_code == code


async def unfit(running: Running) -> None:
    await refused(running, ErrorCode.UNKNOWN_SERVER_ERROR)


@pytest.mark.parametrize(
    ("interceptor", "ask", "slices"),
    [
        (Fetches(), sent, 1),
        (Fetches(), waiting, 2),
        (Fetches(LoseAnswer()), lost, 1),
        (Fetches(spoils=True), unfit, 1),
        (Fetches(Delay(500)), gone, 1),
        (Fetches(Refuse(ErrorCode.POLICY_VIOLATION)), refused, 0),
    ],
    ids=["sent", "waiting", "lost", "unfit", "gone", "refused"],
)
@simulated
async def test_every_slice_is_given_back(
    simulation: Simulation,
    tmp_path: Path,
    lent: list[OsSlice],
    interceptor: Fetches,
    ask: Callable[[Running], Awaitable[None]],
    slices: int,
) -> None:
    async with start(simulation, OsFiles(str(tmp_path)), interceptor=interceptor) as running:
        await running.create("t", 2)
        await running.produce("t", b"x")
        await ask(running)
        assert given_back(lent) == [True] * slices

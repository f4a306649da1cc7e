"""A talk with a broker about who somebody is, written down: what the exchanges of
`sasl_exchanges.py` and its neighbours are made with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, cast

from kafkalite.protocol.api_keys import ApiKey, response_class
from kafkalite.protocol.codec import decode, encode
from kafkalite.protocol.headers import Buffer, read_response_header, request_frame
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest
from kafkalite.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkalite.protocol.schema import Request, schema_of

RECORDED = Path(__file__).parent / "sasl-exchanges.txt"
SESSION_MS = 1_500
"""How long a session lasts on the listener SHORT."""


class Wire(Protocol):
    """A new connection to one listener."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """It may be closed already."""
        ...

    @abstractmethod
    async def answer(self) -> bytes | None:
        """The next frame, without its length; None: the connection is closed."""
        ...

    @abstractmethod
    def now_ms(self) -> int:
        """By the broker's clock."""
        ...

    @abstractmethod
    async def wait_ms(self, duration_ms: int) -> None:
        """So long."""
        ...


class Talk:
    """On one connection, written down."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.lines: list[str] = []

    async def ask(self, request: Request, version: int, *, note: str = "") -> Any:
        """Sends it, and writes down what comes; the answer, or None. An `Any` for its fields."""
        await self.send(request, version)
        return await self.hear(request, version, note=note)

    async def send(self, request: Request, version: int) -> None:
        parts = request_frame(request, version, correlation_id=7, client_id="exchange")
        await self.wire.send(b"".join(cast("list[Buffer]", parts)))

    async def hear(self, request: Request, version: int, *, note: str = "") -> Any:
        key = ApiKey(schema_of(type(request)).api_key)
        frame = await self.wire.answer()
        shown = answer = None
        if frame is not None:
            header, position = read_response_header(key, version, frame)
            assert header.correlation_id == 7
            answer = decode(response_class(key), version, memoryview(frame)[position:])
            assert encode(answer, version) == frame[position:], "it is packed in another way"
            shown = _shown(key, answer, version)
        self.write(f"{key.name} v{version} {note}".rstrip(), shown)
        return answer

    def write(self, asked: str, answered: str | None) -> None:
        self.lines.append(f"{asked} -> {'closed' if answered is None else answered}")

    async def versions(self, version: int = 3, **fields: object) -> None:
        known = {"client_software_name": "test", "client_software_version": "1"} | fields
        # Fields that a version does not have are not written.
        request = ApiVersionsRequest(**known) if version >= 3 else ApiVersionsRequest()  # type: ignore[arg-type]
        await self.ask(request, version)

    async def handshake(self, mechanism: str, version: int = 1) -> None:
        await self.ask(SaslHandshakeRequest(mechanism=mechanism), version, note=mechanism)

    async def authenticate(self, token: bytes, version: int = 1) -> bytes | None:
        answer = await self.ask(SaslAuthenticateRequest(auth_bytes=token), version)
        return None if answer is None else bytes(answer.auth_bytes)

    async def raw(self, data: bytes, note: str = "raw") -> bytes | None:
        """Sent as a frame."""
        await self.wire.send(len(data).to_bytes(4, "big") + data)
        answer = await self.wire.answer()
        self.write(note, None if answer is None else _masked(answer))
        return answer


def _shown(key: ApiKey, answer: Any, version: int) -> str:
    match key:
        case ApiKey.API_VERSIONS:
            return f"error {answer.error_code}"
        case ApiKey.SASL_HANDSHAKE:
            return f"error {answer.error_code} {answer.mechanisms}"
        case ApiKey.SASL_AUTHENTICATE:
            told = [f"error {answer.error_code}", repr(answer.error_message)]
            told += [_masked(bytes(answer.auth_bytes))]
            if version >= 1:
                told.append(f"lifetime {_rounded(answer.session_lifetime_ms)}")
            return " ".join(told)
        case _:
            return encode(answer, version).hex()


def _rounded(duration_ms: int) -> str:
    """What depends on the time of day is told in hours."""
    if duration_ms > SESSION_MS:
        return f"about {(duration_ms + 600_000) // 3_600_000} h"
    return str(duration_ms) if duration_ms in (0, SESSION_MS) else "less"


def _masked(token: bytes) -> str:
    """Without what is random in SCRAM."""
    if token.startswith(b"r=client-nonce"):
        nonce, rest = token.split(b",", 1)
        nonce = nonce.removeprefix(b"r=client-nonce")
        assert 20 <= len(nonce) <= 30
        assert nonce.isalnum()
        return f"r=client-nonce...,{rest.decode()}"
    return "v=..." if token.startswith(b"v=") else repr(token)


Exchange = Callable[[Talk], Awaitable[None]]
EXCHANGES: dict[tuple[str, str], Exchange] = {}
"""By listener and name."""


def exchange(listener: str = "SASL") -> Callable[[Exchange], Exchange]:
    def keep(function: Exchange) -> Exchange:
        EXCHANGES[listener, function.__name__] = function
        return function

    return keep


async def transcript(listener: str, name: str, wire: Wire) -> str:
    """Of one exchange, as the file has it."""
    talk = Talk(wire)
    await EXCHANGES[listener, name](talk)
    return "".join(f"{line}\n" for line in (f"# {listener} {name}", *talk.lines, ""))


def recorded() -> dict[tuple[str, str], str]:
    """As the file has them."""
    parts = RECORDED.read_text().split("\n# ")
    texts = [f"# {part.removeprefix('# ').rstrip()}\n\n" for part in parts]
    return {
        (listener, name): text
        for text in texts
        for listener, name in [text.split("\n", 1)[0].removeprefix("# ").split()]
    }

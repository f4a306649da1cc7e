"""The machine at this end of a connection to another broker: requests out, responses in, in order.

It lives from one dial to its end, whichever way that comes, and then refuses all that was asked of
it: a new one is made for what is asked next. Its first request is ApiVersions; each later one goes
out in the highest version that both know. Where the other asks who this one is, that is answered
next (`peer_login.py`), and again when it has been let in for a time only. Who stops answering is
hung up on: an answer that is late says nothing good of those behind it.

    DIALING ── opened ── NEGOTIATING ── versions known ── LOGGING IN ── let in ── READY ── OVER
       │                      │                              │  └───── due ────────┤        │
       └──────────────────────┴──────────────────────────────┴─────────────────────┴────────┘

Source: Kafka's `NetworkClient`, `InterBrokerSendThread` and `NodeApiVersions`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from kafkalite import __version__
from kafkalite.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from kafkalite.log.files import Part
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.network import Dialing, Link, Network
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.protocol.versions import Versions
from kafkalite.server.peer_login import LoginRefusedError, PeerLogin
from kafkalite.server.peer_requests import Asked, OnResponse, common_version
from kafkalite.server.receive_buffer import BufferPool, ReceiveBuffer

_log = logging.getLogger(__name__)

SETUP_MS: Final = 10_000
"""From the dial until all may be asked: Kafka's `socket.connection.setup.timeout.ms`."""
LOGIN_MS: Final = 30_000
"""For each answer of a login, which waits behind those of all that was asked before."""
MAX_ASKED: Final = 1_000
"""Requests that are not answered yet; more are refused."""
_NEGOTIATION_VERSION: Final = 3
"""Of ApiVersions: every Kafka since 2.4 has it."""


class PeerConnection:
    """See the module, and `ports.network.Connection`."""

    def __init__(
        self,
        clock: Clock,
        pool: BufferPool,
        *,
        client_id: str,
        limit_bytes: int,
        on_ready: Callable[[], None],
        on_over: Callable[[], None],
        login: PeerLogin | None = None,
        on_refused: Callable[[LoginRefusedError], None] = lambda _: None,
        checks_views: bool = False,
    ) -> None:
        """`limit_bytes`: the largest frame that is taken. `on_ready` and `on_over` are called once
        each: when all may be asked, if ever, and at the end, before those who wait are refused.
        `login`: None where nobody is asked who they are; `on_refused` tells of one that failed,
        before the end. `checks_views` proves that no one keeps a view of a response, at the price
        of a copy: for tests."""
        self._clock = clock
        self._client_id = client_id
        self._on_ready = on_ready
        self._on_over = on_over
        self._login = login
        self._on_refused = on_refused
        self._checks_views = checks_views
        self._pool = pool
        self._buffer = ReceiveBuffer(pool, limit_bytes)
        self._link: Link | None = None
        self._dialing: Dialing | None = None
        self._setup: Timer | None = None
        self._versions: dict[int, Versions] | None = None
        """What the other serves, by key; None: it was not told yet."""
        self._unsent: deque[Asked] = deque()
        self._sent: deque[Asked] = deque()
        self._is_blocked = False
        """Whether what was written has not all left."""
        self._next_correlation_id = 0
        self._is_over = False

    # Asked by `Peers`.

    def dial(self, network: Network, host: str, port: int, at_ms: int) -> None:
        """Connect at that time, or soon when it has passed."""
        self._setup = self._clock.call_at(at_ms, partial(self._dial, network, host, port))

    def ask(
        self,
        request: Request,
        on_reply: OnResponse,
        *,
        timeout_ms: int,
        version_cap: int | None,
    ) -> None:
        """See `Peers.ask`."""
        asked = Asked(request, on_reply, version_cap)
        if len(self._sent) + len(self._unsent) >= MAX_ASKED:
            asked.end(KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "too many requests wait for it"))
            return
        asked.timer = self._clock.call_at(
            self._clock.now_ms() + timeout_ms, partial(self._late, asked)
        )
        self._unsent.append(asked)
        self._send()

    def end(self, why: str) -> None:
        """Hang up, or give up the dial, and refuse everyone who waits with NETWORK_EXCEPTION."""
        if self._is_over:
            return
        self._is_over = True
        if self._setup is not None:
            self._setup.cancel()
        if self._link is not None:
            self._link.close()
        elif self._dialing is not None:
            self._dialing.cancel()
        self._pool.forget(self._try_room)
        self._on_over()
        waiting = [*self._sent, *self._unsent]
        self._sent.clear()
        self._unsent.clear()
        for asked in waiting:
            asked.end(KafkaError(ErrorCode.NETWORK_EXCEPTION, why))

    # What the network calls.

    def opened(self, link: Link) -> None:
        """See `Connection`."""
        self._link = link
        if self._is_over:
            link.close()
            return
        asked = Asked(
            ApiVersionsRequest(
                client_software_name="kafkalite", client_software_version=__version__
            ),
            self._negotiated,
            _NEGOTIATION_VERSION,
        )
        self._write(asked, _NEGOTIATION_VERSION)

    def space(self) -> memoryview:
        """See `Connection`."""
        return self._buffer.space()

    def filled(self, size: int) -> None:
        """See `Connection`."""
        if self._buffer.filled(size):
            self._read()
        self._buffer.settle()
        if self._is_over:
            self._buffer.clear()

    def drained(self) -> None:
        """See `Connection`."""
        self._is_blocked = False
        self._send()

    def closed(self, error: OSError | None) -> None:
        """See `Connection`."""
        self._buffer.clear()
        self.end(f"the connection is lost: {error or 'it hung up'}")

    # Sending.

    def _dial(self, network: Network, host: str, port: int) -> None:
        self._setup = self._clock.call_at(
            self._clock.now_ms() + SETUP_MS,
            lambda: self.end(f"no connection to {host}:{port} within {SETUP_MS // 1000} s"),
        )
        self._dialing = network.dial(host, port, self)

    def _negotiated(self, reply: Response | KafkaError) -> None:
        if isinstance(reply, KafkaError):
            return  # The connection is over.
        assert isinstance(reply, ApiVersionsResponse), reply
        if reply.error_code:
            self.end(f"it refuses to tell its versions: {ErrorCode(reply.error_code).name}")
            return
        self._versions = {
            each.api_key: Versions(each.min_version, each.max_version) for each in reply.api_keys
        }
        if not self._begins_login():
            self._opened_up()

    def _opened_up(self) -> None:
        """All may be asked, for the first time or again."""
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None
            self._on_ready()
        self._send()

    def _send(self) -> None:
        if self._versions is None or (self._login is not None and self._login.is_under_way):
            return
        while self._unsent and not self._is_blocked:
            if self._unsent[0].is_over:
                self._unsent.popleft()
            elif self._begins_login():
                return
            else:
                self._send_one(self._unsent.popleft())

    def _send_one(self, asked: Asked) -> None:
        assert self._versions is not None, "not negotiated"
        version = common_version(asked, self._versions)
        if version is None:
            why = f"it serves no version of API {asked.api_key} that is known here"
            asked.end(KafkaError(ErrorCode.UNSUPPORTED_VERSION, why))
        else:
            self._write(asked, version)

    # Logging in.

    def _begins_login(self) -> bool:
        """Whether that comes before anything else that is asked."""
        if self._login is None or not self._login.is_due(self._clock.now_ms()):
            return False
        self._say(self._login.begin())
        return True

    def _say(self, request: Request) -> None:
        asked = Asked(request, self._login_answered, None)
        asked.timer = self._clock.call_at(
            self._clock.now_ms() + LOGIN_MS, partial(self._late, asked)
        )
        self._send_one(asked)

    def _login_answered(self, reply: Response | KafkaError) -> None:
        assert self._login is not None, "it has begun"
        if isinstance(reply, KafkaError):
            self.end(f"it does not let this broker log in: {reply.message}")
            return
        try:
            request = self._login.answered(reply, self._clock.now_ms())
        except LoginRefusedError as refused:
            self._on_refused(refused)
            self.end(f"it does not let this broker in: {refused}")
            return
        if request is None:
            self._opened_up()
        else:
            self._say(request)

    def _write(self, asked: Asked, version: int) -> None:
        assert self._link is not None, "not connected"
        assert asked.request is not None, "sent twice"
        asked.version = version
        asked.correlation_id = self._next_correlation_id
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        try:
            frame = request_frame(
                asked.request,
                version,
                correlation_id=asked.correlation_id,
                client_id=self._client_id,
            )
        except (KafkaError, ValueError) as misfit:
            why = f"version {version} of API {asked.api_key} cannot say it: {misfit}"
            asked.end(KafkaError(ErrorCode.UNSUPPORTED_VERSION, why))
            return
        asked.request = None
        self._sent.append(asked)
        # A request that one broker sends another has its records in memory.
        if not self._link.write(cast("list[Part]", frame)):
            self._is_blocked = True

    def _late(self, asked: Asked) -> None:
        """Its time is up. One that is sent takes the connection with it."""
        is_sent = asked.request is None
        asked.end(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the other broker did not answer"))
        if is_sent:
            self.end("it did not answer in time")

    # Receiving.

    def _read(self) -> None:
        try:
            while not self._is_over:
                frame = self._buffer.next_frame()
                if frame is None:
                    if not self._buffer.make_room():
                        self._wait_for_room()
                    return
                self._answered(frame)
        except ProtocolError as malformed:
            _log.warning("%s: closing the connection: %s", self._client_id, malformed)
            self.end(f"its answer makes no sense: {malformed}")
        except BaseException:
            self.end("its answer could not be handled")
            raise

    def _answered(self, frame: memoryview) -> None:
        if not self._sent:
            raise ProtocolError("an answer that was not asked for")
        asked = self._sent[0]
        if self._checks_views:
            copy = bytearray(frame)
            frame = memoryview(copy)
        response = asked.read(frame)
        self._sent.popleft()
        asked.end(response)
        if self._checks_views:
            del response
            frame.release()
            try:
                copy.clear()
            except BufferError:
                raise InvariantError("a view of a response was kept") from None

    def _wait_for_room(self) -> None:
        if self._link is not None:
            self._link.pause()
        self._pool.call_when_given_back(self._try_room)

    def _try_room(self) -> None:
        if self._is_over or self._link is None:
            return
        if self._buffer.make_room():
            self._link.resume()
        else:
            self._pool.call_when_given_back(self._try_room)

"""Whether clients get further than the first address: a broker that answers there tells them where
to go on, and that may be where nobody is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, TypeVar

from kafkalite.cli.client_security import ClientSecurity
from kafkalite.cli.errors import CommandError
from kafkalite.errors import ProtocolError

if TYPE_CHECKING:
    from kafkalite.protocol.schema import Request, Response

R = TypeVar("R", bound="Response")

CONNECT_WITHIN_S = 5.0
"""For each address."""
_SILENT_FOR_S = 1.0
"""From then on who takes connections, and says nothing, may wait for the end of a line."""
_VERSION = 1
"""Of Metadata: the first that can ask for no topic."""

_Place = tuple[str, int]
"""A host and a port."""


def try_to_connect(place: _Place) -> None:
    """`OSError`, or `UnicodeError` for what can be no host's name, when nobody takes it."""
    socket.create_connection(place, CONNECT_WITHIN_S).close()


def check_advertised(bootstrap: _Place, security: ClientSecurity) -> None:
    """`CommandError` when what is there is no broker, does not let this client in, or tells clients
    to go where none of them can. Of what says nothing at all to a client without TLS and SASL it
    says nothing: that may be a broker with much to do."""
    from kafkalite.cli.authentication import SpeaksTlsError, reason

    try:
        places = _advertised_by_who_is_awake(bootstrap, security)
    except SpeaksTlsError as error:
        raise CommandError(
            f"{written(bootstrap)} speaks TLS; say security.protocol=SSL (or SASL_SSL) in a file "
            "for --command-config, or name another address with --bootstrap"
        ) from error
    except (OSError, ProtocolError) as error:
        if isinstance(error, ConnectionError):
            _tell_who_hangs_up(bootstrap, security, error)
        if security != ClientSecurity():
            raise CommandError(
                f"{written(bootstrap)} takes connections, and does not answer like a Kafka broker "
                f"that speaks {security.protocol} ({reason(error)}); see the file of "
                "--command-config"
            ) from error
        if isinstance(error, ProtocolError):
            raise CommandError(
                f"{written(bootstrap)} answers, but is no Kafka broker; name one with --bootstrap"
            ) from error
        return
    problem = None
    for place in places:
        try:
            try_to_connect(place)
        except (OSError, UnicodeError) as error:
            problem = (
                f"{written(bootstrap)} answered, but tells clients to connect to {written(place)}, "
                f"which {_what_it_does(error)}; see advertised.listeners"
            )
        else:
            return
    if problem is not None:
        raise CommandError(problem)


def written(place: _Place) -> str:
    """As `HOST:PORT`."""
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _what_it_does(error: OSError | UnicodeError) -> str:
    match error:
        case socket.gaierror() | UnicodeError():
            return "this machine cannot resolve"
        case ConnectionRefusedError():
            return "refuses"
        case TimeoutError():
            return "does not answer"
        case _:
            return f"this machine cannot reach ({error.strerror or error})"


def _advertised_by_who_is_awake(bootstrap: _Place, security: ClientSecurity) -> list[_Place]:
    """As `_advertised`; `ProtocolError` for what waits for the end of a line, as servers of HTTP
    do."""
    try:
        return _advertised(bootstrap, security, _SILENT_FOR_S)
    except TimeoutError:
        if security.tls is None and _answers_lines(bootstrap):
            raise ProtocolError("it answers lines") from None
    return _advertised(bootstrap, security, CONNECT_WITHIN_S)


def _answers_lines(place: _Place) -> bool:
    """No broker does: it takes one for the size of a request that is too large, and hangs up."""
    try:
        with socket.create_connection(place, CONNECT_WITHIN_S) as connection:
            connection.settimeout(_SILENT_FOR_S)
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return bool(connection.recv(1))
    except OSError:
        return False


def _advertised(bootstrap: _Place, security: ClientSecurity, within_s: float) -> list[_Place]:
    """Of all brokers of the cluster."""
    from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse

    request = MetadataRequest(topics=[])
    answer = _asked(bootstrap, security, request, _VERSION, MetadataResponse, within_s)
    return [(broker.host, broker.port) for broker in answer.brokers]


def _tell_who_hangs_up(place: _Place, security: ClientSecurity, error: ConnectionError) -> None:
    """`CommandError` where that is known. Not of brokers that are too old for this request."""
    from kafkalite.protocol.api_keys import ApiKey
    from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse

    try:
        served = _asked(place, security, ApiVersionsRequest(), 0, ApiVersionsResponse)
    except (OSError, ProtocolError):
        served = None
    if served is not None and ApiKey.METADATA not in [one.api_key for one in served.api_keys]:
        raise CommandError(
            f"{written(place)} is a controller, which serves no clients; name a broker with "
            "--bootstrap"
        ) from error
    if security != ClientSecurity():
        return
    if served is not None:
        raise CommandError(
            f"{written(place)} asks clients who they are; say security.protocol=SASL_PLAINTEXT, "
            "sasl.mechanism and sasl.jaas.config in a file for --command-config"
        ) from error
    try:
        _asked(place, security, MetadataRequest(topics=[]), 0, MetadataResponse)
    except (OSError, ProtocolError):
        raise CommandError(
            f"{written(place)} takes connections, and hangs up on clients without TLS and SASL; "
            "name a broker with --bootstrap, or say its security.protocol in a file for "
            "--command-config"
        ) from error


def _asked(
    place: _Place,
    security: ClientSecurity,
    request: Request,
    version: int,
    kind: type[R],
    within_s: float = CONNECT_WITHIN_S,
) -> R:
    """On a connection of its own. `ConnectionResetError`: it hung up."""
    from kafkalite.cli.authentication import ask, let_in

    with socket.create_connection(place, CONNECT_WITHIN_S) as plain:
        if security.tls is None:  # The login is in clear too. TLS may take its time to start.
            plain.settimeout(within_s)
        with let_in(plain, place[0], security) as connection:
            connection.settimeout(within_s)
            answer = ask(connection, request, version, kind)
    if answer is None:
        raise ConnectionResetError("it hangs up")
    return answer

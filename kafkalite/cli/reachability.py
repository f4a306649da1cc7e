"""Whether clients get further than the first address: a broker that answers there tells them where
to go on, and that may be where nobody is."""

from __future__ import annotations

import socket

from kafkalite.cli.client_security import ClientSecurity
from kafkalite.cli.errors import CommandError
from kafkalite.errors import ProtocolError

CONNECT_WITHIN_S = 5.0
"""For each address."""
_VERSION = 1
"""Of Metadata: the first that can ask for no topic."""

_Place = tuple[str, int]
"""A host and a port."""


def try_to_connect(place: _Place) -> None:
    """`OSError`, or `UnicodeError` for what can be no host's name, when nobody takes it."""
    socket.create_connection(place, CONNECT_WITHIN_S).close()


def check_advertised(bootstrap: _Place, security: ClientSecurity) -> None:
    """`CommandError` when the broker there does not let this client in, or tells clients to go
    where none of them can. Of what hangs up on a client without TLS and SASL it says nothing: that
    may be an old broker."""
    from kafkalite.cli.authentication import SpeaksTlsError, reason

    try:
        places = _advertised(bootstrap, security)
    except SpeaksTlsError as error:
        raise CommandError(
            f"{written(bootstrap)} speaks TLS; say security.protocol=SSL (or SASL_SSL) in a file "
            "for --command-config, or name another address with --bootstrap"
        ) from error
    except (OSError, ProtocolError) as error:
        if isinstance(error, ConnectionError) and _is_a_controller(bootstrap, security):
            raise CommandError(
                f"{written(bootstrap)} is a controller, which serves no clients; name a broker "
                "with --bootstrap"
            ) from error
        if security == ClientSecurity():
            return
        raise CommandError(
            f"{written(bootstrap)} takes connections, and does not answer like a Kafka broker that "
            f"speaks {security.protocol} ({reason(error)}); see the file of --command-config"
        ) from error
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


def _advertised(bootstrap: _Place, security: ClientSecurity) -> list[_Place]:
    """Of all brokers of the cluster."""
    from kafkalite.cli.authentication import ask, let_in
    from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse

    with (
        socket.create_connection(bootstrap, CONNECT_WITHIN_S) as plain,
        let_in(plain, bootstrap[0], security) as connection,
    ):
        answer = ask(connection, MetadataRequest(topics=[]), _VERSION, MetadataResponse)
    if answer is None:
        raise ConnectionResetError("it hangs up")
    return [(broker.host, broker.port) for broker in answer.brokers]


def _is_a_controller(place: _Place, security: ClientSecurity) -> bool:
    """Whether it lists what it serves, and Metadata is not among that: every broker serves it."""
    from kafkalite.cli.authentication import ask, let_in
    from kafkalite.protocol.api_keys import ApiKey
    from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

    try:
        with (
            socket.create_connection(place, CONNECT_WITHIN_S) as plain,
            let_in(plain, place[0], security) as connection,
        ):
            answer = ask(connection, ApiVersionsRequest(), 0, ApiVersionsResponse)
    except (OSError, ProtocolError):
        return False
    return answer is not None and ApiKey.METADATA not in [one.api_key for one in answer.api_keys]

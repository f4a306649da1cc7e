"""A listener with TLS and no SASL: who shows a certificate there that is trusted is whom it names,
and whoever shows none is anonymous. That is looked at with a connection's first request, and never
again."""

from __future__ import annotations

from kafkalite.security.certificate_names import subject_name
from kafkalite.security.principals import USER, KafkaPrincipal
from kafkalite.server.connection import Answer, ClientConnection, Handle
from kafkalite.server.request import Session


def naming_clients(handle: Handle[Session]) -> Handle[Session]:
    """What stands before `handle`, which is dispatch."""

    def first(connection: ClientConnection[Session], frame: memoryview) -> Answer:
        shown = connection.link.peer_certificate
        if shown is not None:
            connection.session.principal = KafkaPrincipal(USER, subject_name(shown))
        connection.handle = handle
        return handle(connection, frame)

    return first

# Made by tools/generate_messages.py, digest bdc436230f5f11b5; do not edit.
"""The principal inside Envelope and delegation tokens, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import boolean, string
from kafkalite.protocol.schema import Message


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: str = string("0+")
    name: str = string("0+")
    token_authenticated: bool = boolean("0+")

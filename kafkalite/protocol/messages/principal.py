# Made by tools/generate_messages.py, digest 2d113b13b67a2c99; do not edit.
"""The principal inside Envelope and delegation tokens, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.schema import Message, boolean, string


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: str = string("0+")
    name: str = string("0+")
    token_authenticated: bool = boolean("0+")

# Made by tools/generate_messages.py, digest 10d9aec250640b22; do not edit.
"""SaslHandshake, API key 17: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, string
from kafkalite.protocol.schema import Request, Response


class SaslHandshakeRequest(Request, api_key=17, versions="0-1", listeners="broker controller"):
    mechanism: str = string("0+")


class SaslHandshakeResponse(Response, api_key=17, versions="0-1"):
    error_code: int = int16("0+")
    mechanisms: list[str] = array(string, "0+")

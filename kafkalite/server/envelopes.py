"""An Envelope (KIP-590): a client's request, as it came, on its way from the broker that took it to
the controller.

    request_data         header and body, without a length: the client's correlation id among them
    request_principal    int16 version, DefaultPrincipalData: who the client is
    client_host_address  its address, of 4 or 16 bytes

Source: Kafka's `ForwardingManager`, `EnvelopeUtils`, `DefaultKafkaPrincipalBuilder`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from kafkalite.errors import ErrorCode
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.envelope import EnvelopeRequest
from kafkalite.protocol.messages.principal import DefaultPrincipalData
from kafkalite.protocol.schema import Response, schema_of
from kafkalite.protocol.schema import Struct as MessageStruct

_VERSION: Final = Struct(">h")
_PRINCIPAL_VERSION: Final = 0
_NOWHERE: Final = bytes((127, 0, 0, 1))
"""For a client whose address is none, such as a node of the memory network."""


def envelope(data: bytes, *, host: str) -> EnvelopeRequest:
    """Around a request of a client at `host`. Nobody has been asked who they are yet."""
    principal = DefaultPrincipalData(type="User", name="ANONYMOUS")
    return EnvelopeRequest(
        request_data=data,
        request_principal=_VERSION.pack(_PRINCIPAL_VERSION) + encode(principal, _PRINCIPAL_VERSION),
        client_host_address=_packed(host),
    )


def _packed(host: str) -> bytes:
    from ipaddress import ip_address  # Rarely needed, and not cheap to import.

    try:
        return ip_address(host).packed
    except ValueError:
        return _NOWHERE


def is_from_a_former_controller(response: Response) -> bool:
    """Whether any part of it says NOT_CONTROLLER: then it is to be asked for again."""
    return _holds(response, ErrorCode.NOT_CONTROLLER)


def _holds(value: object, code: ErrorCode) -> bool:
    if isinstance(value, MessageStruct):
        if getattr(value, "error_code", 0) == code:
            return True
        return any(
            _holds(getattr(value, field.name), code) for field in schema_of(type(value)).fields
        )
    if isinstance(value, list):
        return any(_holds(each, code) for each in value)
    return False

"""An Envelope (KIP-590): a client's request, as it came, on its way from the broker that took it to
the controller.

    request_data         header and body, without a length: the client's correlation id among them
    request_principal    int16 version, DefaultPrincipalData: who the client is
    client_host_address  its address, of 4 or 16 bytes
    tag 10000            int32: the broker that took it. Kafka has no such field, and passes over it

Source: Kafka's `ForwardingManager`, `EnvelopeUtils`, `DefaultKafkaPrincipalBuilder`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from kafkalite.errors import ErrorCode
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.envelope import EnvelopeRequest
from kafkalite.protocol.messages.principal import DefaultPrincipalData
from kafkalite.protocol.schema import RawTaggedField, Response, schema_of
from kafkalite.protocol.schema import Struct as MessageStruct
from kafkalite.types import BrokerId

_VERSION: Final = Struct(">h")
_SENDER: Final = Struct(">i")
_SENDER_TAG: Final = 10_000
"""Far from those that Kafka will give. A broker may be asked about its own settings alone."""
_PRINCIPAL_VERSION: Final = 0
_NOWHERE: Final = bytes((127, 0, 0, 1))
"""For a client whose address is none, such as a node of the memory network."""


def envelope(data: bytes, *, host: str, sender: BrokerId | None = None) -> EnvelopeRequest:
    """Around a request of a client at `host`. Nobody has been asked who they are yet. `sender`: the
    broker that took it, where the answer depends on that."""
    principal = DefaultPrincipalData(type="User", name="ANONYMOUS")
    request = EnvelopeRequest(
        request_data=data,
        request_principal=_VERSION.pack(_PRINCIPAL_VERSION) + encode(principal, _PRINCIPAL_VERSION),
        client_host_address=_packed(host),
    )
    if sender is not None:
        request.unknown_tagged_fields = (RawTaggedField(_SENDER_TAG, _SENDER.pack(sender)),)
    return request


def sender_of(request: EnvelopeRequest) -> BrokerId | None:
    """The broker that took the request inside; None: it does not say."""
    for field in request.unknown_tagged_fields:
        if field.tag == _SENDER_TAG and len(field.data) == _SENDER.size:
            return BrokerId(_SENDER.unpack(field.data)[0])
    return None


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

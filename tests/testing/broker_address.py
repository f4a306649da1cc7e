"""Where a broker for tests is, and whether anybody is there."""

from __future__ import annotations

import socket

from kafkalite.ports.network import Address
from kafkalite.testing import Broker


def address_of(broker: Broker) -> Address:
    host, _, port = broker.bootstrap.rpartition(":")
    return Address(host, int(port))


def can_be_dialled(bootstrap: str) -> bool:
    host, _, port = bootstrap.rpartition(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return False
    return True

"""Which listeners a client on this machine can use."""

from __future__ import annotations

import pytest

from kafkalite.cli.client_listeners import ClientListener, client_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.ports.network import Address

PROTOCOLS = "IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT"


def found(bound: list[Address], **settings: str) -> list[ClientListener]:
    config = BrokerConfig.of(
        {"listener.security.protocol.map": PROTOCOLS}
        | {key.replace("_", "."): value for key, value in settings.items()}
    )
    return client_listeners(config, bound, lambda host: host == "known")


def test_one_that_says_nothing_is_usable() -> None:
    both = [Address("127.0.0.1", 7), Address("::1", 7)]
    (listener,) = found(both, listeners="IN://localhost:7")
    assert listener == ("IN", Address("127.0.0.1", 7), "127.0.0.1:7", True)
    (listener,) = found([Address("0.0.0.0", 7)], listeners="IN://0.0.0.0:0")
    assert (str(listener.address), listener.is_usable) == ("127.0.0.1:7", True)


@pytest.mark.parametrize(
    ("told", "is_usable"),
    [
        ("IN://:0", True),
        ("IN://:7", True),
        ("IN://:8", False),
        ("IN://localhost:7", True),
        ("IN://127.0.0.1:7", True),
        ("IN://localhost:39092", False),
        ("IN://known:1", True),
        ("IN://unknown:7", False),
    ],
)
def test_what_clients_are_told_decides(told: str, is_usable: bool) -> None:
    bound = [Address("127.0.0.1", 7)]
    (listener,) = found(bound, listeners="IN://127.0.0.1:7", advertised_listeners=told)
    assert listener.is_usable is is_usable


def test_the_usable_ones_come_first() -> None:
    listeners = found(
        [Address("127.0.0.1", 29092), Address("::1", 29092), Address("0.0.0.0", 9092)],
        listeners="IN://localhost:29092,CONTROLLER://x:9093,OUT://0.0.0.0:9092",
        advertised_listeners="IN://broker:29092,OUT://localhost:9092",
        controller_listener_names="CONTROLLER",
    )
    assert [(each.name, str(each.address), each.told) for each in listeners] == [
        ("OUT", "127.0.0.1:9092", "localhost:9092"),
        ("IN", "127.0.0.1:29092", "broker:29092"),
    ]


def test_two_may_share_a_port_and_one_may_be_told_to_nobody() -> None:
    listeners = found(
        [Address("127.0.0.1", 7), Address("::1", 7)],
        listeners="IN://127.0.0.1:7,OUT://[::1]:7",
        advertised_listeners="OUT://[::1]:7",
    )
    assert listeners == [
        ("OUT", Address("::1", 7), "[::1]:7", True),
        ("IN", Address("127.0.0.1", 7), None, False),
    ]

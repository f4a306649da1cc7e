"""Listeners: what is read, and what is refused as the real Kafka 4.4.0 refuses it (its
`KafkaConfig` was given the same settings)."""

from __future__ import annotations

import pytest

from kafkalite.config.listeners import (
    ListenerAddress,
    ListenerConfig,
    parse_ip_limits,
    parse_listeners,
    parse_protocols,
)
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError

LISTENERS = "listeners"
ADVERTISED = "advertised.listeners"
MAP = "listener.security.protocol.map"
OVERRIDES = "max.connections.per.ip.overrides"
TWO = "IN:PLAINTEXT,OUT:PLAINTEXT"


def parsed(listeners: str, **others: str) -> list[ListenerConfig]:
    keys = {"advertised": ADVERTISED, "map": MAP}
    settings = {keys[name]: value for name, value in others.items()}
    return parse_listeners(BrokerConfig.of({LISTENERS: listeners, **settings}))


def bound(listeners: str, **others: str) -> list[tuple[str, str, int]]:
    return [(b.name, b.host, b.port) for b in (each.bound for each in parsed(listeners, **others))]


def refusal(settings: dict[str, str]) -> str:
    with pytest.raises(KafkaError) as refused:
        parse_listeners(BrokerConfig.of(settings))
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    return refused.value.message


@pytest.mark.parametrize(
    ("text", "name", "host", "port"),
    [
        ("PLAINTEXT://localhost:9092", "PLAINTEXT", "localhost", 9092),
        ("PLAINTEXT://:0", "PLAINTEXT", "", 0),
        ("plaintext://[::1]:19092", "PLAINTEXT", "::1", 19092),
        ("PLAINTEXT://::1:9092", "PLAINTEXT", "::1", 9092),
        ("PLAINTEXT://[fe80::1%eth0]:9092", "PLAINTEXT", "fe80::1%eth0", 9092),
        (" PLAINTEXT://127.0.0.1:65535 ", "PLAINTEXT", "127.0.0.1", 65535),
        ("PLAINTEXT://my_host:09092", "PLAINTEXT", "my_host", 9092),
        ("PLAINTEXT://0.0.0.0:9092", "PLAINTEXT", "0.0.0.0", 9092),
    ],
)
def test_a_listener_is_read(text: str, name: str, host: str, port: int) -> None:
    assert bound(text) == [(name, host, port)]


CONTROLLER = {
    "process.roles": " controller ",
    "controller.listener.names": "A,b",
    MAP: "A:PLAINTEXT,B:SASL_SSL,PLAINTEXT:PLAINTEXT",
}


def test_a_controller_alone_has_the_listeners_of_controllers() -> None:
    first, second = parse_listeners(
        BrokerConfig.of({**CONTROLLER, LISTENERS: "a://:1,B://localhost:0"})
    )
    assert first == ListenerConfig(ListenerAddress("A", "", 1), None, "PLAINTEXT")
    assert second == ListenerConfig(ListenerAddress("B", "localhost", 0), None, "SSL")


@pytest.mark.parametrize("listeners", [{}, {LISTENERS: "A://:1,PLAINTEXT://:2"}])
def test_and_no_others(listeners: dict[str, str]) -> None:
    assert refusal({**CONTROLLER, **listeners}) == (
        "The listeners config must only contain KRaft controller listeners from "
        "controller.listener.names when process.roles=controller"
    )


def test_each_listener_has_its_security_protocol() -> None:
    found = parsed("SSL://:1,IN://:2,OUT://:3", map="SSL:SSL,IN:PLAINTEXT,OUT:ssl")
    assert [each.protocol for each in found] == ["SSL", "PLAINTEXT", "SSL"]


def test_a_listener_given_twice_is_one() -> None:
    assert len(parsed("PLAINTEXT://localhost:9092,PLAINTEXT://localhost:9092")) == 1


def test_names_are_the_administrators_and_the_map_knows_them() -> None:
    found = bound("my-in://:1,my.out://:2", map="MY-IN:plaintext, my.out : PLAINTEXT")
    assert found == [("MY-IN", "", 1), ("MY.OUT", "", 2)]


@pytest.mark.parametrize(
    "listeners",
    [
        "IN://127.0.0.1:9092,OUT://[::1]:9092",
        "IN://localhost:0,OUT://localhost:0",
        "IN://a:1,OUT://a:2",
    ],
)
def test_listeners_that_do_not_meet(listeners: str) -> None:
    assert len(parsed(listeners, map=TWO)) == 2


def test_without_advertised_listeners_each_is_told_as_it_was_reached() -> None:
    (found,) = parsed("PLAINTEXT://0.0.0.0:9092")
    assert found.advertised == ListenerAddress("PLAINTEXT", "", 0)


def test_advertised_listeners_are_told_by_name_and_may_leave_some_out() -> None:
    first, second = parsed("IN://:1,OUT://:2", map=TWO, advertised="OUT://example.org:9000")
    assert (first.name, first.advertised) == ("IN", None)
    assert (second.name, second.advertised) == ("OUT", ListenerAddress("OUT", "example.org", 9000))


def test_advertised_listeners_may_share_an_address() -> None:
    found = parsed("IN://:1,OUT://:2", map=TWO, advertised="IN://a:1,OUT://a:1")
    assert [each.advertised and each.advertised.port for each in found] == [1, 1]


CREATING = "Error creating broker listeners from "
REFUSALS = [
    (
        {LISTENERS: "PLAINTEXT://localhost"},
        CREATING + "'[PLAINTEXT://localhost]': Unable to parse PLAINTEXT://localhost to a broker "
        "endpoint",
    ),
    (
        {LISTENERS: "PLAINTEXT//localhost:9092"},
        CREATING + "'[PLAINTEXT//localhost:9092]': Unable to parse PLAINTEXT//localhost:9092 to a "
        "broker endpoint",
    ),
    (
        {LISTENERS: "PLAINTEXT://localhost:+9092"},
        CREATING + "'[PLAINTEXT://localhost:+9092]': Unable to parse PLAINTEXT://localhost:+9092 to"
        " a broker endpoint",
    ),
    (
        {LISTENERS: "PLAINTEXT://a b:1"},
        CREATING + "'[PLAINTEXT://a b:1]': Unable to parse PLAINTEXT://a b:1 to a broker endpoint",
    ),
    (
        {LISTENERS: "PLAINTEXT://localhost:9092,"},
        "Configuration 'listeners' values must not be empty.",
    ),
    (
        {LISTENERS: ""},
        "Configuration 'listeners' must not be empty. Valid values include: any non-empty value",
    ),
    (
        {ADVERTISED: ""},
        "Configuration 'advertised.listeners' must not be empty. Valid values include: any "
        "non-empty value",
    ),
    (
        {LISTENERS: "INTERNAL://:9092"},
        CREATING + "'[INTERNAL://:9092]': No security protocol defined for listener INTERNAL",
    ),
    (
        {LISTENERS: "INTERNAL://:9092", MAP: ""},
        CREATING + "'[INTERNAL://:9092]': No security protocol defined for listener INTERNAL",
    ),
    (
        {LISTENERS: "PLAINTEXT://a:1,PLAINTEXT://a:2"},
        CREATING + "'[PLAINTEXT://a:1, PLAINTEXT://a:2]': Each listener must have a different name,"
        " listeners: [PLAINTEXT://a:1, PLAINTEXT://a:2]",
    ),
    (
        {LISTENERS: "IN://a:1,OUT://a:1", MAP: TWO},
        CREATING + "'[IN://a:1, OUT://a:1]': Each listener must have a different port, listeners: "
        "[IN://a:1, OUT://a:1]",
    ),
    (
        {LISTENERS: "IN://127.0.0.1:1,OUT://0.0.0.0:1", MAP: TWO},
        CREATING + "'[IN://127.0.0.1:1, OUT://0.0.0.0:1]': If you have two listeners on the same "
        "port then one needs to be IPv4 and the other IPv6, listeners: [IN://127.0.0.1:1, "
        "OUT://0.0.0.0:1], port: 1",
    ),
    (
        {LISTENERS: "IN://127.0.0.1:1,OUT://[::1]:1,C://a:1", MAP: TWO + ",C:PLAINTEXT"},
        CREATING + "'[IN://127.0.0.1:1, OUT://[::1]:1, C://a:1]': If you have two listeners on the "
        "same port then one needs to be IPv4 and the other IPv6, listeners: [IN://127.0.0.1:1, "
        "OUT://[::1]:1, C://a:1], port: 1",
    ),
    (
        {LISTENERS: "IN://127.0.0.1:1,OUT://[::1]:1,C://[::1]:1", MAP: TWO + ",C:PLAINTEXT"},
        CREATING + "'[IN://127.0.0.1:1, OUT://[::1]:1, C://[::1]:1]': Each listener must have a "
        "different port unless exactly one listener has an IPv4 address and the other IPv6 address,"
        " listeners: [IN://127.0.0.1:1, OUT://[::1]:1, C://[::1]:1], port: 1",
    ),
    (
        {MAP: "PLAINTEXT:NOPE"},
        "Invalid security protocol `NOPE` defined in listener.security.protocol.map",
    ),
    (
        {MAP: "PLAINTEXT:PLAINTEXT:X"},
        "Invalid security protocol `X` defined in listener.security.protocol.map",
    ),
    ({MAP: ":PLAINTEXT"}, "The provided listener name is null or empty string"),
    (
        {LISTENERS: "IN://:1", MAP: TWO, ADVERTISED: "IN://a:1,OUT://b:2"},
        "advertised.listeners listener names must be equal to or a subset of the ones defined in "
        "listeners. Found IN,OUT. The valid options based on the current configuration are IN",
    ),
    (
        {ADVERTISED: "PLAINTEXT://0.0.0.0:9092"},
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP "
        "address.",
    ),
    (
        {ADVERTISED: "PLAINTEXT://a:1,PLAINTEXT://b:2"},
        CREATING + "'[PLAINTEXT://a:1, PLAINTEXT://b:2]': Each listener must have a different name,"
        " listeners: [PLAINTEXT://a:1, PLAINTEXT://b:2]",
    ),
    (
        {ADVERTISED: "nonsense"},
        CREATING + "'[nonsense]': Unable to parse nonsense to a broker endpoint",
    ),
]


@pytest.mark.parametrize(("settings", "message"), REFUSALS, ids=lambda value: str(value)[:60])
def test_a_refusal_is_kafkas(settings: dict[str, str], message: str) -> None:
    assert refusal(settings) == message


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({LISTENERS: "PLAINTEXT://a:65536"}, "65536 is not a port"),
        ({LISTENERS: "PLAINTEXT://a:-1"}, "-1 is not a port"),
        ({LISTENERS: "PLAINTEXT://a:99999999999"}, "99999999999 is not a port"),
        ({MAP: "PLAINTEXT"}, "'PLAINTEXT' is not NAME:PROTOCOL"),
        ({ADVERTISED: "PLAINTEXT://[::]:1"}, "nonroutable meta-address ::"),
    ],
)
def test_what_is_refused_here_alone_or_in_other_words(settings: dict[str, str], says: str) -> None:
    assert says in refusal(settings)


def test_limits_of_some_addresses() -> None:
    def limits(text: str) -> dict[str, int]:
        return parse_ip_limits(BrokerConfig.of({OVERRIDES: text}))

    assert limits("") == {}
    assert limits("127.0.0.1:5, 0:0:0:0:0:0:0:1:6 ,10.0.0.1:0") == {
        "127.0.0.1": 5,
        "::1": 6,
        "10.0.0.1": 0,
    }
    assert limits("127.0.0.1:5,127.0.0.1:6") == {"127.0.0.1": 6}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({OVERRIDES: "127.0.0.1"}, "'127.0.0.1' is not HOST:COUNT"),
        ({OVERRIDES: "127.0.0.1:x"}, "'127.0.0.1:x' is not HOST:COUNT"),
        ({OVERRIDES: ":5"}, "':5' is not HOST:COUNT"),
        ({OVERRIDES: "a:2147483648"}, "'a:2147483648' is not HOST:COUNT"),
        ({OVERRIDES: "localhost:1"}, "contains invalid addresses : localhost"),
        ({OVERRIDES: "nope nope:1"}, "contains invalid addresses : nope nope"),
        ({OVERRIDES: "[::1]:5"}, "contains invalid addresses : [::1]"),
        (
            {"max.connections.per.ip": "0"},
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
            "property is set.",
        ),
    ],
)
def test_limits_that_make_no_sense_are_refused(settings: dict[str, str], says: str) -> None:
    with pytest.raises(KafkaError) as refused:
        parse_ip_limits(BrokerConfig.of(settings))
    assert says in refused.value.message


def test_no_connection_at_all_from_any_address_but_some() -> None:
    config = BrokerConfig.of({"max.connections.per.ip": "0", OVERRIDES: "127.0.0.1:5"})
    assert parse_ip_limits(config) == {"127.0.0.1": 5}


CONTROLLERS = "controller.listener.names"
INTER_BROKER = "inter.broker.listener.name"
WITH_CONTROLLER = {LISTENERS: "PLAINTEXT://:9092,CONTROLLER://:9093", CONTROLLERS: "CONTROLLER"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {LISTENERS: "controller://:9093,PLAINTEXT://:9092"},
        {ADVERTISED: "PLAINTEXT://h:1,CONTROLLER://h:2"},
        {MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"},
        {INTER_BROKER: " plaintext "},
    ],
)
def test_listeners_of_controllers_are_not_listened_on(settings: dict[str, str]) -> None:
    found = parse_listeners(BrokerConfig.of({**WITH_CONTROLLER, **settings}))
    assert [(each.name, each.bound.port) for each in found] == [("PLAINTEXT", 9092)]
    assert found[0].advertised is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {LISTENERS: "CONTROLLER://:9093"},
            "There must be at least one broker advertised listener. Perhaps all listeners appear "
            "in controller.listener.names?",
        ),
        (
            {ADVERTISED: "CONTROLLER://h:2"},
            "There must be at least one broker advertised listener. Perhaps all listeners appear "
            "in controller.listener.names?",
        ),
        (
            {MAP: "PLAINTEXT:PLAINTEXT"},
            CREATING + "'[PLAINTEXT://:9092, CONTROLLER://:9093]': No security protocol defined "
            "for listener CONTROLLER",
        ),
        (
            {CONTROLLERS: "controller"},
            CREATING + "'[PLAINTEXT://:9092, CONTROLLER://:9093]': No security protocol defined "
            "for listener CONTROLLER",
        ),
        (
            {INTER_BROKER: "OTHER"},
            "Listener with name OTHER defined in inter.broker.listener.name not found in "
            "listener.security.protocol.map.",
        ),
        (
            {INTER_BROKER: "CONTROLLER"},
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            "The valid options based on currently configured listeners are PLAINTEXT",
        ),
    ],
)
def test_what_cannot_be_beside_controllers(settings: dict[str, str], message: str) -> None:
    assert refusal({**WITH_CONTROLLER, **settings}) == message


def test_the_map_by_default_and_as_it_is_written() -> None:
    assert parse_protocols(None)["SASL_SSL"] == "SASL_SSL"
    assert parse_protocols(" my-in : plaintext ") == {"MY-IN": "PLAINTEXT"}

from __future__ import annotations

import pytest

from kafkalite.config.environment import Given
from kafkalite.config.review import review
from kafkalite.errors import ErrorCode, KafkaError

FILE = "server.properties"


def notes(settings: dict[str, str]) -> list[str]:
    return review({name: Given(value, FILE) for name, value in settings.items()})


def refusal(settings: dict[str, str]) -> str:
    with pytest.raises(KafkaError) as refused:
        notes(settings)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert "\n" not in refused.value.message
    return refused.value.message


def test_there_is_nothing_to_say_of_what_acts() -> None:
    assert notes({"num.partitions": "3", "listeners": "PLAINTEXT://:1", "log.dirs": "/a"}) == []


def test_unknown_names_are_warnings_that_name_the_nearest() -> None:
    assert notes({"num.partitons": "3", "retention.ms": "5"}) == [
        "warning: num.partitons (server.properties) is no setting of a broker; the nearest is "
        "num.partitions",
        "warning: retention.ms (server.properties) is no setting of a broker; the nearest is "
        "log.retention.ms",
    ]


def test_a_listener_or_mechanism_that_is_not_in_lower_case_is_nobodys() -> None:
    reauth = "connections.max.reauth.ms"
    assert notes(
        {
            f"listener.name.SASL.{reauth}": "5",
            f"listener.name.sasl.plain.{reauth}": "5",
            "listener.name.sasl.PLAIN.sasl.jaas.config": "x",
        }
    ) == [
        f"warning: listener.name.SASL.{reauth} (server.properties) is no setting of a broker; the "
        f"nearest is listener.name.sasl.{reauth}",
        "warning: listener.name.sasl.PLAIN.sasl.jaas.config (server.properties) is no setting of a "
        "broker; the nearest is listener.name.sasl.plain.sasl.jaas.config",
    ]


def test_a_nearest_that_is_given_too_was_not_meant() -> None:
    """As in kafka-ui's example, which has both."""
    given = {"ssl.enabled.mechanisms": "PLAIN", "sasl.enabled.mechanisms": "PLAIN"}
    unknown = "warning: ssl.enabled.mechanisms (server.properties) is no setting of a broker"
    assert unknown in notes(given)
    del given["sasl.enabled.mechanisms"]
    assert notes(given) == [f"{unknown}; the nearest is sasl.enabled.mechanisms"]


def test_a_value_without_a_name_is_told_as_that() -> None:
    assert notes({"": "x"}) == [
        "warning: a value without a name (server.properties) sets nothing; expected NAME=VALUE"
    ]


def test_of_our_own_names_none_is_unknown() -> None:
    assert refusal({"kafkalite.record.validaton": "full"}) == (
        "kafkalite.record.validaton (server.properties) is no setting of a broker; the nearest is "
        "kafkalite.record.validation"
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("num.partitions", "0", "a whole number from 1 to 2147483647"),
        ("num.partitions", "many", "a whole number from 1 to 2147483647"),
        ("num.io.threads", "0", "a whole number from 1 to 2147483647"),
        ("delete.topic.enable", "yes", "true or false"),
        ("compression.type", "rar", "uncompressed, zstd, lz4, snappy, gzip or producer"),
        ("unstable.api.versions.enable", "1", "true or false"),
        ("ssl.client.auth", "maybe", "required, requested or none"),
        ("listeners", "", "a list, separated by commas, not empty"),
        ("controller.quorum.voters", "a:1", "a list of ID@HOST:PORT, separated by commas"),
        ("kafkalite.record.validation", "half", "header or full"),
    ],
)
def test_a_bad_value_is_told_with_key_value_origin_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    assert refusal({name: f" {value} "}) == f"{name}={value} ({FILE}): allowed is {allowed}"


def test_values_that_contradict_each_other_are_refused() -> None:
    assert "replica.lag.time.max.ms=1" in refusal({"replica.lag.time.max.ms": "1"})


def test_a_quorum_and_a_cluster_id_are_one_line() -> None:
    assert notes(
        {
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": "1@kafka:9093",
            "kafkalite.cluster.id": "abc",
        }
    ) == [
        "info: the broker is its own controller (no effect: process.roles=broker,controller "
        "controller.listener.names=CONTROLLER controller.quorum.voters=1@kafka:9093); "
        "a new data folder gets the cluster id abc (server.properties)"
    ]


def test_a_cluster_id_alone() -> None:
    assert notes({"kafkalite.cluster.id": "abc"}) == [
        "info: a new data folder gets the cluster id abc (server.properties)"
    ]


VOTERS, BOOTSTRAP = "controller.quorum.voters", "controller.quorum.bootstrap.servers"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({VOTERS: "1@a:1,2@b:1"}, VOTERS),
        ({BOOTSTRAP: "a:1,b:1", "process.roles": "broker,controller"}, BOOTSTRAP),
        ({VOTERS: "1@a:1", "process.roles": " broker "}, VOTERS),
        ({BOOTSTRAP: "a:1", VOTERS: "1@a:1", "process.roles": "broker"}, VOTERS),
    ],
)
def test_where_there_may_be_other_brokers_each_is_a_cluster_of_its_own(
    settings: dict[str, str], named: str
) -> None:
    first, second = notes(settings)
    assert first == (
        f"warning: {named} (server.properties) names other nodes; here each broker is a cluster of "
        "its own, and knows nothing of others: `kafkalite cluster` runs several that are one"
    )
    assert second.startswith("info: the broker is its own controller")


@pytest.mark.parametrize(
    "settings",
    [
        {"process.roles": "broker"},
        {"process.roles": "broker,controller", VOTERS: "1@a:1"},
        {"process.roles": "controller, broker", BOOTSTRAP: "a:1"},
    ],
)
def test_a_broker_that_may_be_alone_is_not_warned(settings: dict[str, str]) -> None:
    (line,) = notes(settings)
    assert line.startswith("info: ")


@pytest.mark.parametrize("roles", ["controller", " controller , controller"])
def test_a_controller_alone_is_told_that_it_can_be_left_out_and_nothing_else(roles: str) -> None:
    settings = {
        "process.roles": roles,
        VOTERS: "1@a:1,2@b:1",
        "kafkalite.cluster.id": "abc",
        "num.io.threads": "8",
        "authorizer.class.name": "org.example.Acls",
    }
    assert notes(settings) == [
        "info: process.roles=controller (server.properties): each broker brings its own controller "
        "here, so this process does nothing and serves no clients; it can be left out"
    ]


def test_its_unknown_names_and_bad_values_are_told() -> None:
    first, _ = notes({"process.roles": "controller", "num.partitons": "3"})
    assert first.startswith("warning: num.partitons (server.properties) is no setting")
    assert refusal({"process.roles": "controller", "num.partitions": "0"})


def test_no_zookeeper_is_joined() -> None:
    assert notes({"zookeeper.connect": " zk:2181 ", "zookeeper.set.acl": "true"}) == [
        "info: no ZooKeeper is joined (no effect: zookeeper.connect=zk:2181 zookeeper.set.acl)"
    ]


def test_what_has_no_effect_is_one_line_without_values() -> None:
    assert notes(
        {
            "num.io.threads": "8",
            "ssl.provider": "secret",
            "inter.broker.protocol.version": "3.9",
            "log.local.retention.ms": "5",
            "super.users": "User:a",
            "confluent.license": "x",
            "confluent.support.customer.id": "y",
        }
    ) == [
        "info: no effect here: num.io.threads ssl.provider inter.broker.protocol.version "
        "log.local.retention.ms super.users confluent.*"
    ]


def test_an_authorizer_that_is_not_there_is_a_warning() -> None:
    name = "authorizer.class.name"
    assert notes({name: "org.example.Acls"}) == [
        f"warning: {name} (server.properties) has no effect: everybody whom a listener lets "
        "in may do everything"
    ]
    assert notes({name: " "}) == []


def test_kerberos_beside_other_mechanisms_is_a_warning() -> None:
    name = "listener.name.in.sasl.enabled.mechanisms"
    assert notes({name: "PLAIN, GSSAPI"}) == [
        f"warning: {name} (server.properties): GSSAPI is left out, since Kerberos is not spoken "
        "here"
    ]
    assert notes({name: "GSSAPI"}) == []
    assert notes({name: "PLAIN"}) == []


def test_a_login_of_no_mechanism_has_no_effect() -> None:
    assert notes({"sasl.jaas.config": "x"}) == ["info: no effect here: sasl.jaas.config"]
    assert notes({"listener.name.in.plain.sasl.jaas.config": "x"}) == []

"""`Broker(users=...)`: whom it lets in, and what its clients are told to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from kafkalite.testing import Broker
from tests.testing.confluent_calls import send

ODD = 'o"d\\d, =n'
USERS = {"alice": "alice-secret", ODD: 'p w"\\;ä\n'}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def test_it_knows_its_users_by_each_mechanism_and_makes_its_topics() -> None:
    with Broker(users=USERS, topics={"t": 1}) as broker:
        for user in USERS:
            for mechanism in MECHANISMS:
                send(
                    broker.bootstrap, "t", b"tea", broker.client_settings(user, mechanism=mechanism)
                )
        broker.create_topic("later")
        first = broker.client_settings()
    assert first == {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "alice-secret",
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nobody_else_is_let_in(mechanism: str) -> None:
    told: list[KafkaError] = []
    with Broker(users=USERS) as broker:
        settings: dict[str, Any] = {**broker.client_settings(mechanism=mechanism)}
        own = {"sasl.password": "another", "error_cb": told.append, "log_level": 0}
        Producer({**settings, **own}).poll(30)
    assert told[0].code() == KafkaError._AUTHENTICATION


def test_a_broker_that_comes_back_knows_them_with_another_password(tmp_path: Path) -> None:
    for password in ("first", "second"):
        with Broker(users={"alice": password}, data=tmp_path / "data") as broker:
            send(broker.bootstrap, "t", b"tea", broker.client_settings(mechanism="SCRAM-SHA-512"))


def test_without_users_there_is_nothing_to_say() -> None:
    with Broker() as broker:
        assert broker.client_settings() == {"bootstrap.servers": broker.bootstrap}
        with pytest.raises(ValueError, match="user='alice': none of users="):
            broker.client_settings("alice")


def test_a_mechanism_that_is_not_there() -> None:
    with Broker(users=USERS) as broker, pytest.raises(ValueError, match="mechanism='GSSAPI': none"):
        broker.client_settings(mechanism="GSSAPI")


@pytest.mark.parametrize(
    ("users", "why"),
    [
        (
            ["secret"],
            "^users of type list: expected passwords by name, such as {'alice': 'secret'}$",
        ),
        ({"alice": 3}, "users: 'alice': expected passwords by name"),
        ({"": "p"}, "users: '': a name or password is empty"),
        ({"a": "\0"}, "users: 'a': a name or password is empty, or has a zero in it"),
    ],
)
def test_what_are_no_users(users: Any, why: str) -> None:  # Any: slips.
    with pytest.raises(ValueError, match=why):
        Broker(users=users)


def test_users_and_listeners_of_ones_own() -> None:
    with pytest.raises(ValueError, match="users= makes a listener of its own"):
        Broker(users=USERS, settings={"listeners": "PLAINTEXT://localhost:0"})

"""The messages are Kafka's; what it answers to each token stands in `sasl-exchanges.txt`."""

from __future__ import annotations

import pytest

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.sasl import PLAIN_MODULE, SCRAM_MODULE
from kafkalite.security.exchange import Authenticated, NotAuthenticatedError
from kafkalite.security.plain import PlainExchange, passwords

USERS = {"alice": "alice-secret", "élan\ud800": "ß", "empty": ""}


def test_passwords_are_the_options_of_its_own_module() -> None:
    logins = (
        JaasEntry(SCRAM_MODULE, "required", {"user_bob": "of another module"}),
        JaasEntry(PLAIN_MODULE, "required", {"username": "x", "user_alice": "first", "user_": "y"}),
        JaasEntry(PLAIN_MODULE, "required", {"user_alice": "second", "user_bob": "b"}),
    )
    assert passwords(logins) == {"alice": "first", "": "y", "bob": "b"}


@pytest.mark.parametrize("token", [b"\0alice\0alice-secret", b"alice\0alice\0alice-secret"])
def test_the_right_password(token: bytes) -> None:
    assert PlainExchange(USERS).step(token, 0) == Authenticated(b"", "alice")


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (b"\0alice\0alice-secreT", "Authentication failed: Invalid username or password"),
        (b"\0alice\0alice-secret2", "Authentication failed: Invalid username or password"),
        (b"\0carol\0x", "Authentication failed: Invalid username or password"),
        (b"\0empty\0", "Authentication failed: password not specified"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (
            b"bob\0alice\0alice-secret",
            "Authentication failed: Client requested an authorization id that is different from "
            "username",
        ),
        (b"alice\0x", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0\0\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0\xff\0x", "Authentication failed: Invalid username or password"),
    ],
)
def test_what_is_refused(token: bytes, why: str) -> None:
    with pytest.raises(NotAuthenticatedError) as refused:
        PlainExchange(USERS).step(token, 0)
    assert str(refused.value) == why
    assert refused.value.is_told

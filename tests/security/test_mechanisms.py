from __future__ import annotations

import pytest

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.listeners import ListenersError
from kafkalite.config.sasl import OAUTHBEARER_MODULE, PLAIN_MODULE, MechanismSettings, SaslSettings
from kafkalite.security.exchange import Authenticated, NotAuthenticatedError
from kafkalite.security.mechanisms import Mechanisms
from kafkalite.security.oauthbearer import OAuthBearerExchange
from kafkalite.security.scram import NONCE_BYTES


def mechanisms(**options: str) -> Mechanisms:
    def of(module: str, options: dict[str, str]) -> MechanismSettings:
        return MechanismSettings((JaasEntry(module, "required", options),), "here", 0)

    found = {
        "PLAIN": of(PLAIN_MODULE, {"user_alice": "x"}),
        "SCRAM-SHA-512": of("any", {}),
        "OAUTHBEARER": of(OAUTHBEARER_MODULE, options),
    }
    return Mechanisms(SaslSettings(found, 1000, 100))


def test_each_begins_with_its_own() -> None:
    asked = []

    def find(mechanism: str, name: str) -> None:
        asked.append((mechanism, name))

    random = bytes(NONCE_BYTES)
    plain = mechanisms().begin("PLAIN", find, random)
    assert plain.step(b"\0alice\0x", 0) == Authenticated(b"", "alice")
    with pytest.raises(NotAuthenticatedError):
        mechanisms().begin("SCRAM-SHA-512", find, random).step(b"n,,n=bob,r=x", 0)
    assert asked == [("SCRAM-SHA-512", "bob")]
    assert isinstance(mechanisms().begin("OAUTHBEARER", find, random), OAuthBearerExchange)


def test_options_are_looked_at_before_anybody_comes() -> None:
    with pytest.raises(ListenersError):
        mechanisms(unsecuredValidatorAllowableClockSkewMs="x")

from __future__ import annotations

import pytest

from kafkalite.config.inter_broker_login import InterBrokerLogin, inter_broker_login
from kafkalite.config.jaas import JaasEntry, parse_jaas_value
from kafkalite.config.listeners import ListenersError

SETTING = "listener.name.internal.plain.sasl.jaas.config"


def logins(text: str) -> tuple[JaasEntry, ...]:
    return parse_jaas_value(text)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_as_whom_a_broker_logs_in(mechanism: str) -> None:
    found = inter_broker_login(
        mechanism, logins('M required username="admin" password="p" user_alice="q";'), SETTING
    )
    assert found == InterBrokerLogin(mechanism, "admin", "p")
    assert "p'" not in repr(found), "no secret in what might be logged"


def test_of_several_logins_the_first_that_says_it_counts() -> None:
    several = 'A required; B required username="b"; C required username="c" password="of c";'
    assert inter_broker_login("PLAIN", logins(several), SETTING) == ("PLAIN", "b", "of c")


@pytest.mark.parametrize(
    "text", ["M required;", 'M required username="a";', 'M required username="" password="p";']
)
def test_who_has_no_name_or_password_is_refused(text: str) -> None:
    with pytest.raises(ListenersError, match="has no username and password") as refused:
        inter_broker_login("PLAIN", logins(text), SETTING)
    assert SETTING in refused.value.keys


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "plain"])
def test_a_mechanism_that_is_not_spoken(mechanism: str) -> None:
    with pytest.raises(ListenersError, match=f"Invalid value {mechanism} for configuration sasl."):
        inter_broker_login(mechanism, logins('M required username="a" password="p";'), SETTING)

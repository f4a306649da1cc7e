"""What the settings of SASL mean, of all listeners, of one, and of one mechanism there; and what is
missing or cannot be. The refusals that are Kafka's too are in its words (`JaasContext`)."""

from __future__ import annotations

import pytest

from kafkalite.config.jaas import JaasEntry, parse_jaas_file
from kafkalite.config.listeners import ListenersError
from kafkalite.config.sasl import (
    FILE,
    MechanismSettings,
    SaslSettings,
    Sections,
    check_inter_broker_mechanism,
    sasl_settings,
    spoken_mechanisms,
)
from kafkalite.config.views import BrokerConfig

P = "org.apache.kafka.common.security"
PLAIN = f"{P}.plain.PlainLoginModule"
ENABLED = {"sasl.enabled.mechanisms": "PLAIN"}
JAAS = "listener.name.in.plain.sasl.jaas.config"
LOGIN = f'{PLAIN} required user_a="b";'
ENTRY = JaasEntry(PLAIN, "required", {"user_a": "b"})


def settings(more: dict[str, str], sections: Sections | None = None) -> SaslSettings:
    return sasl_settings(BrokerConfig.of(more), "IN", sections or {})


def refusal(more: dict[str, str], sections: Sections | None = None) -> ListenersError:
    with pytest.raises(ListenersError) as refused:
        settings(more, sections)
    assert "\n" not in refused.value.message
    assert refused.value.remedy
    assert refused.value.keys
    return refused.value


def test_what_is_by_default() -> None:
    found = settings({**ENABLED, JAAS: LOGIN})
    assert found == SaslSettings({"PLAIN": MechanismSettings((ENTRY,), JAAS, 0)}, 524_288, 100)


def test_what_is_set_for_all_for_one_and_for_one_mechanism() -> None:
    found = settings(
        {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.in.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,GSSAPI",
            "connections.max.reauth.ms": "1",
            "listener.name.in.connections.max.reauth.ms": "2",
            "listener.name.in.plain.connections.max.reauth.ms": "3",
            "listener.name.in.sasl.server.max.receive.size": "77",
            "listener.name.in.connection.failed.authentication.delay.ms": "5",
            "listener.name.in.plain.sasl.server.callback.handler.class": ""
            f"{P}.plain.internals.PlainServerCallbackHandler",
            JAAS: LOGIN,
            # Neither is looked at, as in Kafka.
            "sasl.jaas.config": "no jaas",
            "plain.sasl.jaas.config": "no jaas",
        }
        | {"listener.name.in.scram-sha-256.sasl.jaas.config": f"{PLAIN} required;"}
    )
    assert list(found.mechanisms) == ["PLAIN", "SCRAM-SHA-256"]
    assert found.mechanisms["PLAIN"].max_session_ms == 3
    assert found.mechanisms["SCRAM-SHA-256"].max_session_ms == 2
    assert (found.max_token_bytes, found.failure_delay_ms) == (77, 100)


def test_logins_of_the_file() -> None:
    sections = parse_jaas_file(
        f"KafkaServer {{ X optional; {LOGIN} }}; other.KafkaServer {{ {PLAIN} required; }};"
    )
    found = settings(ENABLED, sections).mechanisms["PLAIN"]
    assert (found.logins[1], found.setting) == (ENTRY, FILE)
    of_another = sasl_settings(BrokerConfig.of(ENABLED), "OTHER", sections).mechanisms["PLAIN"]
    assert of_another.logins == (JaasEntry(PLAIN, "required", {}),)
    own = settings({**ENABLED, JAAS: f"{PLAIN} required;"}, sections).mechanisms["PLAIN"]
    assert own.setting == JAAS


@pytest.mark.parametrize(
    ("more", "says", "key"),
    [
        ({}, "Invalid value GSSAPI (its default) for configuration sasl.enabled.mechanisms", None),
        (
            {"listener.name.in.sasl.enabled.mechanisms": "GSSAPI"},
            "Invalid value GSSAPI for configuration listener.name.in.sasl.enabled.mechanisms",
            "listener.name.in.sasl.enabled.mechanisms",
        ),
        (
            {"sasl.enabled.mechanisms": "plain"},
            "Invalid value plain for configuration sasl.e",
            None,
        ),
        (
            ENABLED,
            "Could not find a 'KafkaServer' or 'in.KafkaServer' entry in the JAAS configuration",
            JAAS,
        ),
        ({**ENABLED, JAAS: "x"}, f"{JAAS}: expected a control flag, found the end", JAAS),
        (
            {**ENABLED, JAAS: f"{LOGIN} {LOGIN}"},
            f"{JAAS}: JAAS config property contains 2 login modules, should be 1 module",
            JAAS,
        ),
        ({**ENABLED, JAAS: "a.B required;"}, f"{JAAS}: a.B is a Java class, which cannot", JAAS),
        (
            {**ENABLED, JAAS: LOGIN, "listener.name.in.plain.connections.max.reauth.ms": "x"},
            "Invalid value x for configuration listener.name.in.plain.connections.max.reauth.ms: "
            "Not a number of type LONG",
            "listener.name.in.plain.connections.max.reauth.ms",
        ),
        (
            {**ENABLED, JAAS: LOGIN, "listener.name.in.sasl.server.max.receive.size": "x"},
            "listener.name.in.: Invalid value x for configuration sasl.server.max.receive.size",
            "listener.name.in.sasl.server.max.receive.size",
        ),
        (
            {"listener.name.in.plain.sasl.server.callback.handler.class": "a.B", **ENABLED},
            "Invalid value a.B for configuration listener.name.in.plain.sasl.server.callback.handle"
            "r.class: it is a Java class",
            "listener.name.in.plain.sasl.server.callback.handler.class",
        ),
    ],
)
def test_what_cannot_be(more: dict[str, str], says: str, key: str | None) -> None:
    refused = refusal(more)
    assert refused.message.startswith(says)
    assert refused.keys[0] == (key or "sasl.enabled.mechanisms")


def test_a_section_without_a_login_is_none() -> None:
    assert refusal(ENABLED, {"KafkaServer": ()}).message.startswith("Could not find")


def test_oauthbearer_takes_one_login() -> None:
    enabled = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
    sections = {"KafkaServer": (ENTRY, ENTRY)}
    assert "exactly 1 non-null JAAS" in refusal(enabled, sections).message
    assert settings(enabled, {"KafkaServer": (ENTRY,)}).mechanisms["OAUTHBEARER"].logins == (ENTRY,)


def test_what_brokers_speak_among_themselves_must_be_spoken() -> None:
    config = BrokerConfig.of({**ENABLED, "sasl.mechanism.inter.broker.protocol": "PLAIN"})
    check_inter_broker_mechanism(config, "IN")
    with pytest.raises(ListenersError, match=r"must be included in sasl\.enabled") as no:
        check_inter_broker_mechanism(BrokerConfig.of(ENABLED), "IN")
    assert no.value.remedy == "say sasl.mechanism.inter.broker.protocol=PLAIN"


def test_kerberos_is_left_out() -> None:
    both = BrokerConfig.of({"sasl.enabled.mechanisms": "GSSAPI,PLAIN"})
    assert spoken_mechanisms(both, "IN") == ("PLAIN",)
    assert spoken_mechanisms(BrokerConfig(), "IN") == ()

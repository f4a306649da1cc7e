"""What the settings of TLS mean, of all listeners and of one; and what contradicts itself. The
refusals that are Kafka's too are in its words (`DefaultSslEngineFactory`)."""

from __future__ import annotations

import pytest

from kafkalite.config.listeners import ListenersError
from kafkalite.config.tls import Store, TlsSettings, tls_settings
from kafkalite.config.views import BrokerConfig

KEYS = {"ssl.keystore.location": "/k", "ssl.keystore.password": "p"}
PEM = {"ssl.keystore.type": "PEM"}
INLINE = {**PEM, "ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C"}
TRUST_PEM = {"ssl.truststore.type": "PEM"}


def settings(more: dict[str, str], listener: str = "SSL") -> TlsSettings:
    return tls_settings(BrokerConfig.of(more), listener)


def refusal(more: dict[str, str]) -> ListenersError:
    with pytest.raises(ListenersError) as refused:
        settings(more)
    assert "\n" not in refused.value.message
    assert refused.value.remedy
    return refused.value


def test_what_is_by_default() -> None:
    store = Store(
        *("ssl.keystore.location", "JKS", "/k", "", "p"),
        *("ssl.keystore.password", None, "ssl.key.password"),
    )
    assert settings(KEYS) == TlsSettings(
        key_store=store,
        trust_store=None,
        client_auth="none",
        versions=("TLSv1.2", "TLSv1.3"),
        newest_version="TLSv1.3",
        cipher_suites=(),
        cipher_suites_setting="ssl.cipher.suites",
        checks_host=True,
    )


def test_stores_of_each_kind() -> None:
    found = settings({**KEYS, "ssl.keystore.type": "pkcs12", "ssl.key.password": "k"}).key_store
    assert found is not None
    assert (found.kind, found.location, found.password) == ("PKCS12", "/k", "p")
    assert found.key_password == "k"
    found = settings({**PEM, "ssl.keystore.location": "/k"}).key_store
    assert found is not None
    assert (found.kind, found.location, found.password) == ("PEM", "/k", None)
    found = settings(INLINE).key_store
    assert found is not None
    assert (found.setting, found.location, found.text) == ("ssl.keystore.key", None, "C\nK")


def test_trust_stores_of_each_kind() -> None:
    found = settings({**KEYS, "ssl.truststore.location": "/t"}).trust_store
    assert found is not None
    assert (found.kind, found.location, found.password) == ("JKS", "/t", None)
    inline = {**TRUST_PEM, "ssl.truststore.certificates": "T"}
    found = settings({**KEYS, **inline}).trust_store
    assert found is not None
    assert (found.setting, found.text) == ("ssl.truststore.certificates", "T")


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ({"ssl.client.auth": "required"}, "client_auth", "required"),
        ({"ssl.enabled.protocols": "TLSv1.3,TLSv1.1"}, "versions", ("TLSv1.3",)),
        ({"ssl.enabled.protocols": ""}, "versions", ("TLSv1.2", "TLSv1.3")),
        ({"ssl.protocol": "TLSv1.2"}, "newest_version", "TLSv1.2"),
        ({"ssl.protocol": "TLS"}, "newest_version", "TLSv1.3"),
        ({"ssl.cipher.suites": "A,B"}, "cipher_suites", ("A", "B")),
        ({"ssl.endpoint.identification.algorithm": "HTTPS"}, "checks_host", True),
        ({"ssl.endpoint.identification.algorithm": ""}, "checks_host", False),
    ],
)
def test_each_setting(more: dict[str, str], field: str, value: object) -> None:
    assert getattr(settings({**KEYS, **more}), field) == value


def test_a_listeners_own_settings_are_stronger() -> None:
    more = {
        **KEYS,
        "ssl.client.auth": "requested",
        "listener.name.in-side.ssl.client.auth": "required",
        "listener.name.in-side.ssl.keystore.location": "/own",
        "listener.name.IN-SIDE.ssl.keystore.password": "of nobody",
        "listener.name.in-side.sasl.jaas.config": "not looked at",
    }
    mine, other = settings(more, "IN-SIDE"), settings(more, "OUT")
    assert (mine.client_auth, other.client_auth) == ("required", "requested")
    assert mine.key_store is not None
    assert other.key_store is not None
    assert mine.key_store.location == "/own"
    assert mine.key_store.setting == "listener.name.in-side.ssl.keystore.location"
    assert mine.key_store.password == "p"
    assert mine.key_store.password_setting == "ssl.keystore.password"
    assert other.key_store.setting == "ssl.keystore.location"


@pytest.mark.parametrize(("said_by", "wanted"), [("", "none"), ("listener.name.in.", "required")])
def test_who_says_by_sasl_who_he_is_needs_no_certificate(said_by: str, wanted: str) -> None:
    """Unless the listener alone wants one."""
    config = BrokerConfig.of({**KEYS, f"{said_by}ssl.client.auth": "required"})
    assert tls_settings(config, "IN", has_sasl=True).client_auth == wanted
    assert tls_settings(config, "IN").client_auth == "required"


@pytest.mark.parametrize(
    ("more", "says", "keys"),
    [
        (
            {},
            "The listener SSL speaks SSL, and has no key store",
            ["ssl.keystore.location", "listeners"],
        ),
        (
            {"ssl.keystore.location": "/k"},
            "SSL key store is specified, but key store password is not specified.",
            ["ssl.keystore.location"],
        ),
        (
            {"ssl.keystore.password": "p"},
            "ssl.keystore.password is specified, but ssl.keystore.location is not.",
            ["ssl.keystore.password"],
        ),
        (
            {**PEM, **KEYS},
            "ssl.keystore.password cannot be specified with PEM format.",
            ["ssl.keystore.password"],
        ),
        (
            {**INLINE, "ssl.keystore.password": "p"},
            "ssl.keystore.password cannot be specified with PEM format.",
            ["ssl.keystore.password"],
        ),
        (
            {**INLINE, "ssl.keystore.type": "PKCS12"},
            "ssl.keystore.key can be specified only for PEM, but the type is PKCS12.",
            ["ssl.keystore.key", "ssl.keystore.type"],
        ),
        (
            {**INLINE, "ssl.keystore.location": "/k"},
            "Both ssl.keystore.location and ssl.keystore.key are specified.",
            ["ssl.keystore.key", "ssl.keystore.location"],
        ),
        (
            {**PEM, "ssl.keystore.key": "K"},
            "SSL private key is specified, but certificate chain is not specified.",
            ["ssl.keystore.key"],
        ),
        (
            {**PEM, "ssl.keystore.certificate.chain": "C"},
            "SSL certificate chain is specified, but private key is not specified",
            ["ssl.keystore.certificate.chain"],
        ),
        (
            {**KEYS, "ssl.keystore.type": "pem"},
            "Invalid value pem for configuration ssl.keystore.type: no such kind of store",
            ["ssl.keystore.type"],
        ),
        (
            {**KEYS, "ssl.truststore.type": "BCFKS"},
            "Invalid value BCFKS for configuration ssl.truststore.type: no such kind of store",
            ["ssl.truststore.type"],
        ),
        (
            {**KEYS, "ssl.truststore.certificates": "T"},
            "ssl.truststore.certificates can be specified only for PEM, but the type is JKS.",
            ["ssl.truststore.certificates", "ssl.truststore.type"],
        ),
        (
            {**KEYS, "ssl.truststore.password": "p"},
            "ssl.truststore.password is specified, but ssl.truststore.location is not.",
            ["ssl.truststore.password"],
        ),
        (
            {**KEYS, "ssl.enabled.protocols": "TLSv1.3,TLSv9"},
            "Invalid value TLSv9 for configuration ssl.enabled.protocols: Unsupported protocol",
            ["ssl.enabled.protocols"],
        ),
        (
            {**KEYS, "ssl.enabled.protocols": "SSLv3,TLSv1"},
            "Invalid value SSLv3,TLSv1 for configuration ssl.enabled.protocols: none of them is "
            "safe",
            ["ssl.enabled.protocols"],
        ),
        (
            {**KEYS, "ssl.protocol": "TLSv1"},
            "Invalid value TLSv1 for configuration ssl.protocol: it is not spoken",
            ["ssl.protocol"],
        ),
        (
            {**KEYS, "listener.name.ssl.ssl.client.auth": "maybe"},
            "listener.name.ssl.: Invalid value maybe for configuration ssl.client.auth: "
            "String must be one of: required, requested, none",
            ["listener.name.ssl.ssl.client.auth"],
        ),
    ],
)
def test_what_is_refused(more: dict[str, str], says: str, keys: list[str]) -> None:
    refused = refusal(more)
    assert refused.message == says
    assert list(refused.keys) == keys

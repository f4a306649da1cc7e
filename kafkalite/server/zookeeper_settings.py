"""The settings of a broker that say how it reaches ZooKeeper: Kafka's, as in 3.9, and one of ours.

Kafka differs: stores of keys there are JKS, PKCS12 or PEM; here PEM alone. It logs in to ZooKeeper
by SASL, from a file of JAAS; here by the scheme `digest`, with `kafkalite.zookeeper.digest`.

Source: Kafka 3.9's `ZkConfigs`, `ZKClientConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.zookeeper_kazoo import Ensemble, Tls

DEFAULT_TIMEOUT_MS: Final = 18_000
"""Kafka's, of `zookeeper.session.timeout.ms` and `zookeeper.connection.timeout.ms`."""
_LEAST_TO_JOIN_MS: Final = 60_000
_SESSION_TIMEOUT: Final = "zookeeper.session.timeout.ms"
_CONNECTION_TIMEOUT: Final = "zookeeper.connection.timeout.ms"
_SSL: Final = "zookeeper.ssl.client.enable"
_KEYSTORE: Final = "zookeeper.ssl.keystore."
_TRUSTSTORE: Final = "zookeeper.ssl.truststore."
_IDENTIFICATION: Final = "zookeeper.ssl.endpoint.identification.algorithm"


def ensemble_of(config: BrokerConfig, hosts: str) -> Ensemble:
    """`KafkaError(INVALID_CONFIG)` names the setting that cannot be followed."""
    settings = config.settings
    return Ensemble(
        hosts,
        session_timeout_ms(settings),
        config.kafkalite_zookeeper_digest,
        _tls_of(settings) if _is_true(settings, _SSL) else None,
    )


def session_timeout_ms(settings: Mapping[str, str]) -> int:
    """How long a broker that was killed seems to be alive."""
    return _timeout_ms(settings, _SESSION_TIMEOUT, DEFAULT_TIMEOUT_MS)


def connection_timeout_ms(settings: Mapping[str, str]) -> int:
    """How long a broker that starts looks for the ensemble; as long as a session if not set."""
    return _timeout_ms(settings, _CONNECTION_TIMEOUT, session_timeout_ms(settings))


def join_timeout_ms(settings: Mapping[str, str]) -> int:
    """How long a broker that starts may take to be a member. The registration of an earlier life
    may be there for as long as a session lasts, and a busy machine is slow to open its logs."""
    waits_ms = connection_timeout_ms(settings) + 2 * session_timeout_ms(settings)
    return max(waits_ms, _LEAST_TO_JOIN_MS)


def _tls_of(settings: Mapping[str, str]) -> Tls:
    check = settings.get(_IDENTIFICATION, "HTTPS").strip().upper()
    if check not in ("HTTPS", ""):
        raise _invalid(_IDENTIFICATION, check, "it is HTTPS, or nothing")
    return Tls(
        keystore=_pem(settings, _KEYSTORE),
        password=settings.get(f"{_KEYSTORE}password"),
        truststore=_pem(settings, _TRUSTSTORE),
        checks_host=check == "HTTPS",
    )


def _pem(settings: Mapping[str, str], prefix: str) -> str | None:
    location = settings.get(f"{prefix}location", "").strip()
    if not location:
        return None
    kind = settings.get(f"{prefix}type", "").strip().upper()
    if kind != "PEM" and not (not kind and location.lower().endswith(".pem")):
        raise _invalid(
            f"{prefix}type", kind or "(by the name of the file)", "only PEM can be read here"
        )
    return location


def _timeout_ms(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        raise _invalid(name, text, "it is a number of milliseconds, at least 1")
    return int(text)


def _is_true(settings: Mapping[str, str], name: str) -> bool:
    text = settings.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise _invalid(name, text, "it is true or false")
    return text == "true"


def _invalid(name: str, text: str, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_CONFIG, f"Invalid value {text} for configuration {name}: {why}"
    )

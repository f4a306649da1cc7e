from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.zookeeper_kazoo import Ensemble, Tls
from kafkalite.server.zookeeper_settings import connection_timeout_ms, ensemble_of, join_timeout_ms

SSL = {"zookeeper.ssl.client.enable": "true"}
STORES = {
    "zookeeper.ssl.keystore.location": "/k.pem",
    "zookeeper.ssl.keystore.password": "secret",
    "zookeeper.ssl.truststore.location": "/t",
    "zookeeper.ssl.truststore.type": "PEM",
}


@pytest.mark.parametrize(
    ("settings", "ensemble"),
    [
        ({}, Ensemble("zk:1/c", 18_000)),
        ({"zookeeper.session.timeout.ms": " 4000 "}, Ensemble("zk:1/c", 4_000)),
        ({"kafkalite.zookeeper.digest": "u:p"}, Ensemble("zk:1/c", digest="u:p")),
        (SSL, Ensemble("zk:1/c", tls=Tls())),
        (STORES, Ensemble("zk:1/c")),
        (SSL | STORES, Ensemble("zk:1/c", tls=Tls("/k.pem", "secret", "/t"))),
        (
            SSL | {"zookeeper.ssl.endpoint.identification.algorithm": ""},
            Ensemble("zk:1/c", tls=Tls(checks_host=False)),
        ),
    ],
)
def test_what_settings_say(settings: Mapping[str, str], ensemble: Ensemble) -> None:
    assert ensemble_of(BrokerConfig.of(settings), "zk:1/c") == ensemble


def test_the_first_look_takes_as_long_as_a_session() -> None:
    session = {"zookeeper.session.timeout.ms": "4000"}
    assert connection_timeout_ms(session) == 4_000
    assert connection_timeout_ms(session | {"zookeeper.connection.timeout.ms": "5"}) == 5


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"zookeeper.session.timeout.ms": "soon"}, "zookeeper.session.timeout.ms"),
        ({"zookeeper.session.timeout.ms": "0"}, "zookeeper.session.timeout.ms"),
        ({"zookeeper.ssl.client.enable": "yes"}, "zookeeper.ssl.client.enable"),
        (
            SSL | {"zookeeper.ssl.truststore.location": "/t.jks"},
            "zookeeper.ssl.truststore.type",
        ),
        (
            SSL | {"zookeeper.ssl.endpoint.identification.algorithm": "NAME"},
            "zookeeper.ssl.endpoint.identification.algorithm",
        ),
    ],
)
def test_what_cannot_be_followed_is_told(settings: Mapping[str, str], name: str) -> None:
    with pytest.raises(KafkaError, match=f"configuration {name}: ") as refused:
        ensemble_of(BrokerConfig.of(settings), "zk:1/c")
    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_short_sessions_do_not_make_a_slow_start_fail() -> None:
    assert join_timeout_ms({"zookeeper.session.timeout.ms": "4000"}) == 60_000
    longer = {"zookeeper.session.timeout.ms": "30000", "zookeeper.connection.timeout.ms": "5000"}
    assert join_timeout_ms(longer) == 65_000

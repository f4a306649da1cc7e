from __future__ import annotations

import pytest

from kafkalite.config.listener_settings import ListenerSettings
from kafkalite.config.listeners import ListenersError
from kafkalite.config.views import BrokerConfig


def test_what_is_set_for_one_listener_is_stronger_there() -> None:
    own = "listener.name.in.ssl.client.auth"
    config = BrokerConfig.of({own: "required", "ssl.protocol": "TLSv1.2", "num.partitions": "3"})
    found = ListenerSettings(config, "IN", ("ssl.",))
    assert found.config.ssl_client_auth == "required"
    assert found.config.ssl_protocol == "TLSv1.2"
    assert (found.of("ssl.client.auth"), found.of("ssl.protocol")) == (own, "ssl.protocol")
    assert found.is_own("ssl.client.auth")
    assert not found.is_own("ssl.protocol")
    for listener, begins in (("IN", ("sasl.",)), ("OTHER", ("ssl.",))):
        assert ListenerSettings(config, listener, begins).config is config


def test_a_value_that_its_key_does_not_take() -> None:
    config = BrokerConfig.of({"listener.name.in.ssl.client.auth": "maybe"})
    with pytest.raises(ListenersError, match=r"^listener\.name\.in\.: Invalid value maybe") as no:
        ListenerSettings(config, "in", ("ssl.",))
    assert no.value.keys == ("listener.name.in.ssl.client.auth",)

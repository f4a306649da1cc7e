"""On which listener brokers talk to each other."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.server.peers import inter_broker_listener


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "PLAINTEXT"),
        (
            {
                "listeners": "A://:1,PLAINTEXT://:2",
                "listener.security.protocol.map": "A:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            },
            "PLAINTEXT",
        ),
        ({"listeners": "SSL://:1,PLAINTEXT://:2"}, "PLAINTEXT"),
        (
            {
                "listeners": "PLAINTEXT://:1,SSL://:2",
                "security.inter.broker.protocol": "SSL",
            },
            "SSL",
        ),
        ({"listeners": "A://:1", "listener.security.protocol.map": "A:PLAINTEXT"}, "A"),
        (
            {
                "listeners": "A://:1,PLAINTEXT://:2",
                "listener.security.protocol.map": "A:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "inter.broker.listener.name": " a",
            },
            "A",
        ),
    ],
)
def test_brokers_talk_on_one_listener(settings: dict[str, str], name: str) -> None:
    assert inter_broker_listener(BrokerConfig.of(settings)) == name

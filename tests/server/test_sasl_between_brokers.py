"""Brokers that say to each other who they are, over the network in memory."""

from __future__ import annotations

import logging

import pytest

from kafkalite.config.listeners import ListenersError
from kafkalite.config.views import BrokerConfig
from kafkalite.server.secured import inter_broker_login_to
from kafkalite.testing.simulation import Simulation
from tests.server.running import PORT, simulated
from tests.server.running_cluster import three_brokers

JAAS = "listener.name.internal.plain.sasl.jaas.config"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
INTERNAL = {
    "listeners": f"PLAINTEXT://:{PORT},INTERNAL://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    JAAS: f'{PLAIN} username="admin" password="p" user_admin="p";',
}


@simulated
async def test_brokers_log_in_to_each_other(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """A login lasts for a second: it is made anew amid all that they ask."""
    settings = {**INTERNAL, "listener.name.internal.plain.connections.max.reauth.ms": "1000"}
    async with three_brokers(simulation, **settings) as cluster:
        await cluster.create("t", (1, 2, 3))
        for number in range(5):
            assert (await cluster.produce("t", b"%d" % number)).base_offset == number
            await simulation.sleep(1_000)
        assert cluster.isr("t") == {1, 2, 3}
        protocols = {
            endpoint.security_protocol
            for broker in cluster.metadata.brokers.values()
            for endpoint in broker.endpoints
            if endpoint.name == "INTERNAL"
        }
    assert protocols == {2}, "SASL_PLAINTEXT"
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


@simulated
async def test_brokers_that_do_not_know_each_other_say_so(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {**INTERNAL, JAAS: f'{PLAIN} username="admin" password="p" user_admin="another";'}
    async with three_brokers(simulation, **settings) as cluster:
        await cluster.create("t", (1, 2, 3))
        await simulation.sleep(60_000)
    told = [each.getMessage() for each in caplog.records if "log in" in each.getMessage()]
    assert "does not let this one log in: Authentication failed" in told[0]
    assert len(told) < 200, "a flood of them is summed up"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({JAAS: f"{PLAIN};"}, f"{JAAS} has no username and password"),
        ({"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"}, "must be included in sasl.en"),
        (
            {
                "sasl.enabled.mechanisms": "PLAIN,GSSAPI",
                "sasl.mechanism.inter.broker.protocol": "GSSAPI",
            },
            "Invalid value GSSAPI for configuration sasl.mechanism.inter",
        ),
    ],
)
def test_a_login_that_cannot_be(changes: dict[str, str], why: str) -> None:
    config = BrokerConfig.of({**INTERNAL, **changes})
    with pytest.raises(ListenersError, match=why):
        inter_broker_login_to(config, "INTERNAL")
    assert inter_broker_login_to(config, "PLAINTEXT") is None

"""Brokers whose listeners speak TLS, over the network in memory: whom they serve, among themselves
too, and what happens to connections that come no further than their handshake."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from cryptography import x509

from kafkalite.config.listeners import ListenersError, parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode
from kafkalite.ports.complaints import IN_FULL
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.security.principals import ANONYMOUS, KafkaPrincipal
from kafkalite.server.secured import check_security, sasl_mechanisms
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests import certificates
from tests.ports.network_kinds import Machine, encrypted
from tests.server.requests import batch, produce, produced
from tests.server.running import PORT, PRODUCE, simulated, start
from tests.server.running_cluster import three_brokers

METADATA = 9
TWO = {
    "listeners": f"SSL://:{PORT},OWN://:9093",
    "listener.security.protocol.map": "SSL:SSL,OWN:SSL",
}


def client_network(simulation: Simulation) -> Network:
    """As clients have it who do not look at hosts."""
    any_host = {"ssl_endpoint_identification_algorithm": ""}
    return encrypted(simulation.network.node("client"), simulation.clock, **any_host)


async def asked(network: Network, address: Address) -> MetadataResponse:
    client = await Client.connect(network, address)
    try:
        return await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
    finally:
        client.close()


@simulated
async def test_each_listener_has_its_own_settings(simulation: Simulation, tmp_path: Path) -> None:
    settings = {
        **TWO,
        **certificates.settings_of(tmp_path),
        "listener.name.own.ssl.client.auth": "required",
        "listener.name.own.ssl.truststore.location": str(tmp_path / "others.p12"),
    }
    others = certificates.Authority("others")
    (tmp_path / "others.p12").write_bytes(others.pkcs12())
    async with start(simulation, settings=settings) as running:
        network = client_network(simulation)
        assert (await asked(network, Address("broker", PORT))).brokers
        with pytest.raises(ConnectionError):
            await asked(network, Address("broker", 9093))
        endpoints = running.broker.image.brokers[running.broker._config.node_id].endpoints
        assert {each.name: each.security_protocol for each in endpoints} == {"SSL": 1, "OWN": 1}


@simulated
async def test_who_a_client_is_stands_in_its_certificate(
    simulation: Simulation, tmp_path: Path
) -> None:
    settings = {
        **TWO,
        **certificates.settings_of(tmp_path),
        "listener.name.own.ssl.client.auth": "required",
    }
    async with start(simulation, settings=settings) as running:
        network = client_network(simulation)
        clients = [await Client.connect(network, Address("broker", port)) for port in (PORT, 9093)]
        for client in clients:
            await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        served = [
            each for listener in running.broker._listeners._started for each in listener.connections
        ]
        found = [(each.session.listener, each.session.principal) for each in served]
        named = KafkaPrincipal("User", "CN=broker")
        assert found == [("SSL", ANONYMOUS), ("OWN", named)]
        assert len({each.handle for each in served}) == 1, "one is looked at with each request"
        for client in clients:
            client.close()


@simulated
async def test_a_broker_reaches_itself_whatever_it_shows(
    simulation: Simulation, tmp_path: Path
) -> None:
    """For topics that it is to have from the start."""
    settings = {**TWO, **certificates.settings_of(tmp_path, ssl_client_auth="required")}
    async with start(simulation, settings=settings) as running:
        for name, port in ((None, PORT), ("OWN", 9093)):
            network = running.broker.network_to(name)
            assert (await asked(network, Address("broker", port))).brokers


@simulated
async def test_who_has_not_shaken_hands_yet_counts_and_leaves_with_the_broker(
    simulation: Simulation, tmp_path: Path
) -> None:
    settings = {**TWO, **certificates.settings_of(tmp_path), "max.connections": "2"}
    async with start(simulation, settings=settings):
        node = simulation.network.node("silent")
        silent = [Machine(simulation.clock) for _ in range(3)]
        for machine in silent:
            node.dial("broker", PORT, machine)
        await simulation.sleep(10)
        assert [machine.ends for machine in silent] == [[], [], [None]]
    await simulation.sleep(10)
    assert [machine.ends for machine in silent] == [[None], [None], [None]]


@simulated
async def test_brokers_talk_by_tls_and_know_each_other_by_certificates(
    simulation: Simulation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = tuple(x509.DNSName(f"broker-{id}") for id in (1, 2, 3))
    broker = certificates.authority().party("brokers", hosts=hosts)
    (tmp_path / "own.p12").write_bytes(broker.pkcs12())
    (tmp_path / "trusted.p12").write_bytes(certificates.authority().pkcs12())
    settings = {
        "listeners": f"PLAINTEXT://:{PORT},SSL://:9093",
        "inter_broker_listener_name": "SSL",
        "ssl_client_auth": "required",
        "ssl_keystore_location": str(tmp_path / "own.p12"),
        "ssl_keystore_password": certificates.PASSWORD,
        "ssl_truststore_location": str(tmp_path / "trusted.p12"),
        "ssl_truststore_password": certificates.PASSWORD,
    }
    async with three_brokers(simulation, **settings) as cluster:
        await cluster.create("t", (2, 3, 1))
        await cluster.wait_ms(300)
        answer = await cluster.ask(
            2, produce("t", {0: batch(b"x")}, acks=-1, timeout_ms=2_000), PRODUCE, ProduceResponse
        )
        assert ErrorCode(produced(answer)[0].error_code) is ErrorCode.NONE
        assert cluster.isr("t") == {1, 2, 3}
        opened = [str(link.peer) for link in simulation.network.links]
        assert any(address.endswith(":9093") for address in opened)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@simulated
async def test_all_listeners_together_tell_of_some_bad_connections_and_count_the_others(
    simulation: Simulation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "listeners": f"SSL://:{PORT},PLAINTEXT://:9093",
        **certificates.settings_of(tmp_path),
    }
    node = simulation.network.node("client")
    async with start(simulation, settings=settings):
        for number in range(IN_FULL + 3):
            client = await Client.connect(node, Address("broker", (PORT, 9093)[number % 2]))
            client.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
            await client.wait_closed()
        told = [text for text in caplog.messages if "closing the connection" in text]
        assert len(told) == IN_FULL
        assert sum("HTTP without TLS" in text for text in told) == IN_FULL // 2
    assert "closed 3 more connections, the last " in caplog.text, "at the stop"


FILE = "kafkalite.java.security.auth.login.config"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
WITH_SASL = {
    "listeners": f"SASL_PLAINTEXT://:{PORT}",
    "sasl.enabled.mechanisms": "PLAIN",
}


@pytest.mark.parametrize("written", ["{}", "={}", "file:{}", "file://{}", " {} "])
def test_logins_of_a_file_of_jaas(tmp_path: Path, written: str) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f'KafkaServer {{ {PLAIN} required user_alice="x"; }};')
    config = BrokerConfig.of({**WITH_SASL, FILE: written.format(file)})
    check_security(config)
    (listener,) = parse_listeners(config)
    found = sasl_mechanisms(config, listener)
    assert found is not None
    assert found.settings.mechanisms["PLAIN"].logins[0].options == {"user_alice": "x"}


def test_a_file_of_jaas_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f"KafkaServer {{\n {PLAIN};\n}};")
    with pytest.raises(ListenersError) as refused:
        check_security(BrokerConfig.of({**WITH_SASL, FILE: str(file)}))
    assert refused.value.message == f"{FILE}={file}: line 2: expected a control flag, found ;"
    assert refused.value.keys == (FILE,)


def test_brokers_among_themselves_need_a_mechanism_of_their_listener() -> None:
    login = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN} required;"}
    for name in ("security.inter.broker.protocol", "inter.broker.listener.name"):
        settings = {**WITH_SASL, **login, name: "SASL_PLAINTEXT"}
        with pytest.raises(ListenersError, match="and GSSAPI is not"):
            check_security(BrokerConfig.of(settings))
        spoken = {"sasl.mechanism.inter.broker.protocol": "PLAIN"}
        check_security(BrokerConfig.of({**settings, **spoken}))
    check_security(BrokerConfig.of({**WITH_SASL, **login}))

"""The environments that three images of Kafka publish in their examples (`environments/`, as facts:
KEY=VALUE): a broker starts with each, unchanged, in a container and on a laptop."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import IO

import pytest

from kafkalite.cli.first_users import FirstUser
from kafkalite.cli.settings import Settings, gather
from kafkalite.config.listeners import ListenersError, parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports import small_files
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalite.server.listeners import Listeners
from kafkalite.server.lone_controller import answer
from kafkalite.server.secured import check_security
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests import certificates
from tests.cli.serving import serving, talk
from tests.ports.network_kinds import encrypted
from tests.server.running import simulated, start

FOLDER = Path(__file__).parent / "environments"
METADATA = 9
PUBLISHED = sorted(path.stem for path in FOLDER.glob("*.env"))
CONTROLLERS = [name for name in PUBLISHED if name.endswith("-controller")]
"""Those of processes that are no brokers."""
KERBEROS = ["confluent-zookeeper-kerberos"]
"""Those of brokers that speak nothing else, which is not spoken here."""
STARTING = [name for name in PUBLISHED if name not in (*CONTROLLERS, *KERBEROS)]
USERS = {
    "apache-cluster-combined-sasl": ("alice", "alice-secret"),
    "apache-single-node-sasl": ("alice", "alice-secret"),
    "apache-sasl": ("alice", "wonderland-42"),
    "bitnami-sasl": ("admin", "adminpassword"),
    "bitnami-sasl-scram": ("data_rentgen", "changeme"),
    "confluent-zookeeper-sasl": ("enzo", "cisternino"),
}
"""Whom those that speak SASL let in, by PLAIN."""
JAAS = {
    "/etc/kafka/secrets/broker_jaas.conf": "apache-single-node-sasl.jaas",
    "/etc/kafka/secrets/broker1_jaas.conf": "confluent-zookeeper-kerberos.jaas",
    "/sasl/jaas.conf": "apache-sasl.jaas",
    "/etc/kafka/jaas/kafka_server.conf": "confluent-zookeeper-sasl.jaas",
}
"""Files of theirs, by where they mount them."""


PASSWORD = "abcdefgh"
"""In a properties file of theirs."""
SECRETS = "/etc/kafka/secrets/"
"""What they mount there."""


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the names that theirs have."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "kafka01.keystore.jks").write_bytes(certificates.broker().pkcs12(PASSWORD))
    (folder / "kafka.truststore.jks").write_bytes(certificates.authority().pkcs12(PASSWORD))
    for name in ("kafka_keystore_creds", "kafka_ssl_key_creds", "kafka_truststore_creds"):
        (folder / name).write_text(f"{PASSWORD}\n")
    return folder


@pytest.fixture(autouse=True)
def mounted(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a compose file mounts them."""

    def open_there(path: str, mode: str) -> IO[bytes]:
        assert mode == "rb"
        if path in JAAS:
            return (FOLDER / JAAS[path]).open("rb")
        return Path(path.replace(SECRETS, f"{secrets}/")).open("rb")

    monkeypatch.setattr(small_files, "open", open_there, raising=False)


def environment(name: str) -> dict[str, str]:
    lines = (FOLDER / f"{name}.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {variable: value for variable, _, value in pairs}


def gathered(name: str, *, in_container: bool) -> Settings:
    """In a container all hosts are known."""
    file = FOLDER / f"{name}.properties"
    return gather(
        files=[str(file)] if file.exists() else [],
        assignments=[],
        environment=environment(name),
        resolves=lambda host: in_container or host in ("localhost", "0.0.0.0"),
    )


@pytest.mark.parametrize("in_container", [True, False], ids=["container", "laptop"])
@pytest.mark.parametrize("name", STARTING)
@simulated
async def test_a_broker_starts_and_serves_each_of_its_clients(
    simulation: Simulation, name: str, in_container: bool
) -> None:
    values = gathered(name, in_container=in_container).values
    listeners = parse_listeners(BrokerConfig.of(values))
    controllers = values.get("controller.listener.names", "").split(",")
    assert listeners
    assert not any(each.name in controllers for each in listeners)
    files = MemoryFiles()
    async with start(simulation, files, settings=values) as running:
        for listener in listeners:
            network: Network = simulation.network.node("client")
            if listener.protocol == "SSL":
                any_host = {"ssl_endpoint_identification_algorithm": ""}
                network = encrypted(network, simulation.clock, **any_host)
            client = await Client.connect(network, Address("broker", listener.bound.port))
            if listener.has_sasl:
                await log_in(client, USERS[name])
            answer = await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
            if listener.advertised is not None:
                (broker,) = answer.brokers
                assert broker.host == (listener.advertised.host or "broker")
                assert broker.port == (listener.advertised.port or listener.bound.port)
            client.close()
        listened_on = {address.port for address in simulation.network.listeners}
        assert listened_on == {listener.bound.port for listener in listeners}
        wanted = values.get("kafkalite.cluster.id", running.broker.cluster_id)
        assert running.broker.cluster_id == wanted


async def log_in(client: Client, user: tuple[str, str]) -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    hand = await client.ask(handshake, 1, SaslHandshakeResponse)
    assert hand.error_code == 0
    token = "\0".join(("", *user)).encode()
    said = await client.ask(SaslAuthenticateRequest(auth_bytes=token), 2, SaslAuthenticateResponse)
    assert said.error_code == 0


@pytest.mark.parametrize("name", USERS)
@simulated
async def test_whom_it_does_not_know_it_does_not_let_in(simulation: Simulation, name: str) -> None:
    values = gathered(name, in_container=True).values
    (listener, *_) = [each for each in parse_listeners(BrokerConfig.of(values)) if each.has_sasl]
    async with start(simulation, MemoryFiles(), settings=values):
        address = Address("broker", listener.bound.port)
        client = await Client.connect(simulation.network.node("client"), address)
        with pytest.raises(AssertionError):
            await log_in(client, (USERS[name][0], "another"))


@pytest.mark.parametrize("name", KERBEROS)
def test_kerberos_alone_is_refused_in_one_line(name: str) -> None:
    values = gathered(name, in_container=True).values
    with pytest.raises(ListenersError, match="Kerberos is not spoken here"):
        check_security(BrokerConfig.of(values))


@pytest.mark.parametrize("name", PUBLISHED)
def test_who_wants_an_authorizer_is_told_once_that_everybody_may_do_everything(name: str) -> None:
    notes = gathered(name, in_container=True).notes
    told = [note for note in notes if "may do everything" in note]
    assert len(told) == ("KAFKA_AUTHORIZER_CLASS_NAME" in environment(name)), told


@pytest.mark.parametrize("name", PUBLISHED)
def test_users_of_scram_are_to_be_there_from_the_start(name: str) -> None:
    users = gathered(name, in_container=True).users
    expected = (FirstUser("SCRAM-SHA-256", *USERS[name]),) if "-scram" in name else ()
    assert users == expected


@pytest.mark.parametrize("in_container", [True, False], ids=["container", "laptop"])
@pytest.mark.parametrize("name", CONTROLLERS)
@simulated
async def test_a_controller_alone_listens_and_serves_nobody(
    simulation: Simulation, name: str, in_container: bool
) -> None:
    settings = gathered(name, in_container=in_container)
    (line,) = [note for note in settings.notes if "knows no host" not in note]
    assert "process.roles=controller (KAFKA_PROCESS_ROLES): " in line
    config = BrokerConfig.of(settings.values)
    if not in_container:
        assert parse_listeners(config)[0].bound.host in ("", "localhost")
    network = simulation.network.node("controller")
    listeners = Listeners(config, network, simulation.clock, checks_views=True)
    listeners.start(answer)
    client = await Client.connect(
        simulation.network.node("client"), Address("controller", listeners.addresses[0].port)
    )
    asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    response = await client.ask(asked, 3, ApiVersionsResponse)
    assert [each.api_key for each in response.api_keys] == [18]
    with pytest.raises(ConnectionError):
        await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
    await listeners.stop(simulation.clock.now_ms())


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_variable_of_an_image_is_unknown(name: str) -> None:
    notes = gathered(name, in_container=True).notes
    assert [note for note in notes if "is no setting of a broker" in note] == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_on_a_laptop_nothing_but_its_own_addresses_replaces_an_unknown_host(name: str) -> None:
    """What a file opens to the network stays so; nothing else is opened."""
    inside = parse_listeners(BrokerConfig.of(gathered(name, in_container=True).values))
    outside = parse_listeners(BrokerConfig.of(gathered(name, in_container=False).values))
    for there, here in zip(inside, outside, strict=True):
        assert (here.name, here.bound.port) == (there.name, there.bound.port)
        assert here.bound.host in (there.bound.host, "localhost")
        assert here.advertised == there.advertised


@pytest.mark.parametrize("name", STARTING)
def test_quorum_and_cluster_id_are_named_in_one_line(name: str) -> None:
    found = gathered(name, in_container=True)
    lines = [note for note in found.notes if "own controller" in note or "cluster id" in note]
    named = [key for key in found.values if key in ("process.roles", "controller.quorum.voters")]
    cluster_id = found.values.get("kafkalite.cluster.id")
    assert len(lines) == (1 if named or cluster_id else 0)
    for line in lines:
        assert line.startswith("info: ")
        assert all(f"{key}={found.values[key]}" in line for key in named)
        assert cluster_id is None or f"cluster id {cluster_id} (" in line


@pytest.mark.parametrize("name", [name for name in STARTING if "zookeeper" in name])
def test_no_zookeeper_is_joined(name: str) -> None:
    found = gathered(name, in_container=True)
    (line,) = [note for note in found.notes if "ZooKeeper" in note]
    assert line == (
        "info: no ZooKeeper is joined (no effect: zookeeper.connect="
        f"{found.values['zookeeper.connect']})"
    )


@pytest.mark.parametrize("name", STARTING)
def test_a_broker_with_others_beside_it_is_told_once_that_it_knows_none(name: str) -> None:
    beside = ("isolated-broker", "confluent-broker", "cluster", "test-combined")
    notes = gathered(name, in_container=True).notes
    told = [note for note in notes if "is a cluster of its own" in note]
    assert len(told) == (1 if any(part in name for part in beside) else 0), told


def test_there_are_environments_of_each_image_and_style() -> None:
    for image in ("apache", "confluent"):
        assert any(name.startswith(image) for name in CONTROLLERS)
    for image in ("apache", "confluent", "bitnami", "testcontainers"):
        assert any(name.startswith(image) for name in STARTING)
    for image in ("confluent", "bitnami", "testcontainers"):
        assert any(name.startswith(f"{image}-zookeeper") for name in STARTING)


def test_the_command_starts_with_such_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With free ports for the published ones, and for `broker` a name that no machine knows and
    nobody is asked for."""
    unknown = "b" * 64
    for variable, value in environment("confluent-community").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv(
        "KAFKA_LISTENERS",
        f"PLAINTEXT://{unknown}:0,CONTROLLER://{unknown}:0,PLAINTEXT_HOST://127.0.0.1:0",
    )
    monkeypatch.setenv(
        "KAFKA_ADVERTISED_LISTENERS",
        f"PLAINTEXT://{unknown}:29092,PLAINTEXT_HOST://localhost:0",
    )
    monkeypatch.setenv("KAFKA_LOG_DIRS", str(tmp_path / "logs"))

    async def check(client: Client) -> None:
        answer = await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        (broker,) = answer.brokers
        assert (broker.host, broker.port) == ("localhost", served.port), "it can be used from here"
        assert answer.cluster_id == "MkU3OEVBNTcwNTJENDM2Qk"

    with serving(folder=tmp_path, port=None) as served:
        assert served.where == str(tmp_path / "logs")
        assert re.fullmatch(r"127\.0\.0\.1:\d+ \(PLAINTEXT\)", served.others)
        talk(served.port, check)
        code, log = served.end(signal.SIGTERM)
    assert code == 0
    assert "cluster.id=MkU3OEVBNTcwNTJENDM2Qk" in (tmp_path / "logs/meta.properties").read_text()
    of_the_quorum = [line for line in log.splitlines() if "controller.quorum.voters" in line]
    assert len(of_the_quorum) == 1
    assert "CLUSTER_ID" in of_the_quorum[0]
    (warning,) = [line for line in log.splitlines() if " WARNING " in line]
    assert f"knows no host {unknown}" in warning


def test_it_says_when_none_of_its_clients_here_gets_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = "b" * 64
    monkeypatch.setenv("KAFKA_LISTENERS", "PLAINTEXT://127.0.0.1:0")
    monkeypatch.setenv("KAFKA_ADVERTISED_LISTENERS", f"PLAINTEXT://{unknown}:29092")
    with serving("--ephemeral", folder=tmp_path, port=None) as served:
        _, log = served.end(signal.SIGTERM)
    (line,) = log.splitlines()
    assert f"the listener PLAINTEXT sends them to {unknown}:29092; --port" in line

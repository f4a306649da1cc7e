"""Commands on a real Kafka that encrypts and asks who somebody is, by the file of
`--command-config`; and on transactions, which it has too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from compat_tests.cli.command_line import CommandLine
from compat_tests.oracle.free_port import free_ports

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]
KAFKA = Path(__file__).parent.parent / "oracle" / "kafka"
PASSWORD = "of-a-test"
NAMES = ("PLAINTEXT", "SASL", "SSL", "SASLSSL", "MTLS")
PROTOCOLS = "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,SASLSSL:SASL_SSL,MTLS:SSL"
MODULES = "org.apache.kafka.common.security"
ALICE = f'{MODULES}.plain.PlainLoginModule required user_alice="secret";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required;"


class Secured(NamedTuple):
    """A Kafka with a listener of each kind."""

    addresses: dict[str, str]
    certificate: Path
    """That of the broker, which clients are to trust."""


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A key store for the broker, and its certificate."""
    store, certificate = folder / "store.p12", folder / "broker.pem"
    common = ("-keystore", str(store), "-storepass", PASSWORD, "-alias", "broker")
    names = ("-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1,dns:localhost")
    for words in (
        ("-genkeypair", "-keyalg", "EC", "-validity", "2", "-storetype", "PKCS12", *names),
        ("-exportcert", "-rfc", "-file", str(certificate)),
    ):
        subprocess.run(["keytool", *words, *common], check=True, capture_output=True)
    return store, certificate


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    store, certificate = make_certificate(folder)
    addresses = {
        name: f"127.0.0.1:{port}" for name, port in zip(NAMES, free_ports(len(NAMES)), strict=True)
    }
    listeners = ",".join(f"{name}://{address}" for name, address in addresses.items())
    settings = {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:@CPORT@",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": f"{PROTOCOLS},CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "listener.name.mtls.ssl.client.auth": "required",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    for name in ("sasl", "saslssl"):
        settings[f"listener.name.{name}.plain.sasl.jaas.config"] = ALICE
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"listener.name.{name}.{mechanism}.sasl.jaas.config"] = SCRAM
    data = folder / "data"
    options = [word for key, value in settings.items() for word in ("--config", f"{key}={value}")]
    plain = addresses["PLAINTEXT"]
    start = [str(KAFKA), "start", "--port", plain.rpartition(":")[2], "--data", str(data), *options]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            words = f"--alter --entity-type users --entity-name bob --bootstrap-server {plain}"
            added = ("--add-config", f"{mechanism}=[password=secret]")
            subprocess.run(
                [str(KAFKA), "tool", "configs", *words.split(), *added],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        yield Secured(addresses, certificate)
    finally:
        subprocess.run([str(KAFKA), "stop", str(data)], check=True, stdout=subprocess.DEVNULL)


class As:
    """The words that reach one listener of it, with such a file."""

    def __init__(self, secured: Secured, folder: Path) -> None:
        self._secured = secured
        self._file = folder / "client.properties"

    def __call__(self, listener: str, protocol: str, *lines: str, trusts: bool = True) -> list[str]:
        trusted = f"ssl.truststore.location={self._secured.certificate}" if trusts else ""
        self._file.write_text("\n".join((f"security.protocol={protocol}", trusted, *lines)))
        address = self._secured.addresses[listener]
        return ["--bootstrap", address, "--command-config", str(self._file)]


@pytest.fixture
def reached(secured: Secured, tmp_path: Path) -> As:
    return As(secured, tmp_path)


def login(mechanism: str, password: str = "secret") -> tuple[str, str]:
    kind, user = ("plain.Plain", "alice") if mechanism == "PLAIN" else ("scram.Scram", "bob")
    module = f'{MODULES}.{kind}LoginModule required username="{user}" password="{password}";'
    return f"sasl.mechanism={mechanism}", f"sasl.jaas.config={module}"


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_every_kind_of_command_gets_in(
    kafkalite: CommandLine, reached: As, topic: str, protocol: str, mechanism: str
) -> None:
    listener = "SASL" if protocol == "SASL_PLAINTEXT" else "SASLSSL"
    words = reached(listener, protocol, *login(mechanism))
    kafkalite("topics", "create", topic, *words)
    kafkalite("produce", topic, *words, typed=b"tea\n")
    assert kafkalite("consume", topic, "--raw", "--group", topic, *words) == "tea\n"
    (group,) = kafkalite.json("groups", "describe", topic, *words)
    assert group["lag"] == 0


def test_tls_alone(kafkalite: CommandLine, reached: As) -> None:
    kafkalite("topics", "list", *reached("SSL", "SSL"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password(kafkalite: CommandLine, reached: As, mechanism: str) -> None:
    words = reached("SASL", "SASL_PLAINTEXT", *login(mechanism, "wrong"))
    line = kafkalite.refusal("topics", "list", *words)
    assert "(SASL_AUTHENTICATION_FAILED)" in line


@pytest.mark.parametrize(
    ("listener", "lines", "trusts", "says"),
    [
        ("SSL", ("SSL",), False, "is not trusted (self"),
        ("PLAINTEXT", ("SSL",), True, "no TLS with 127.0.0.1"),
        ("PLAINTEXT", ("SASL_PLAINTEXT", *login("PLAIN")), True, "does not ask who somebody is"),
        ("SSL", ("SASL_PLAINTEXT", *login("PLAIN")), True, "speaks TLS; say security.protocol="),
        ("MTLS", ("SSL",), True, "that speaks SSL ("),
    ],
)
def test_what_does_not_fit_is_told(
    kafkalite: CommandLine,
    reached: As,
    listener: str,
    lines: tuple[str, ...],
    trusts: bool,
    says: str,
) -> None:
    line = kafkalite.refusal("topics", "list", *reached(listener, *lines, trusts=trusts))
    assert says in line
    assert "--command-config" in line


def test_what_transactions_have_not_committed(
    kafkalite: CommandLine, secured: Secured, topic: str
) -> None:
    address = secured.addresses["PLAINTEXT"]
    producer = Producer({"bootstrap.servers": address, "transactional.id": topic})
    kafkalite("topics", "create", topic, "-b", address)
    producer.init_transactions(30)
    for value, end in (
        ("aborted", producer.abort_transaction),
        ("committed", producer.commit_transaction),
        ("open", None),
    ):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        if end is not None:
            end(30)
    words = ("consume", topic, "--raw", "-b", address)
    assert kafkalite(*words) == "aborted\ncommitted\nopen\n"
    committed = (*words, "--isolation", "read_committed")
    assert kafkalite(*committed) == "committed\n"
    assert kafkalite(*committed, "--group", topic) == "committed\n"
    producer.abort_transaction(30)
    assert kafkalite(*committed) == "committed\n"

"""Clients over TLS, of kafkalite and of the real Kafka with the same settings: who is let in, what
a round trip gives, and what those see who are not let in."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from cryptography import x509

from compat_tests.cli.command_line import CommandLine
from compat_tests.java.tools import run as run_tool
from compat_tests.oracle.free_port import free_ports
from compat_tests.process import KafkaliteProcess
from compat_tests.there_and_back import by_aiokafka, by_kafka_python, by_librdkafka
from kafkalite.cli import connection
from tests import certificates

pytestmark = pytest.mark.needs_process
KAFKA = Path(__file__).parent / "oracle" / "kafka"
STORES = Path(__file__).parent.parent / "tests" / "data" / "key-stores"
NAMES = ("PLAINTEXT", "SSL", "MTLS", "JKS")
VALUES = [b"%d" % number * 100 for number in range(100)]
WAIT_S = 30.0
FOR_LONG_MS = 20_000


class Secured(NamedTuple):
    """A broker with a listener of each kind; SSL lets anybody in, MTLS who shows a certificate, and
    JKS has a key store in Java's own format, with several keys."""

    addresses: dict[str, str]
    folder: Path
    """With `ca.pem`, `client.pem` (key too), `trust.p12` and `client.p12`."""

    def python(self, listener: str) -> dict[str, object]:
        """What clients written in Python take."""
        return {
            "bootstrap_servers": self.addresses[listener],
            "security_protocol": "SSL",
            "ssl_context": self.context(listener),
        }

    def librdkafka(self, listener: str) -> dict[str, str | int | float | bool]:
        own = str(self.folder / "client.pem")
        shown = {"ssl.certificate.location": own, "ssl.key.location": own}
        return {
            "bootstrap.servers": self.addresses[listener],
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.folder / "ca.pem"),
            **(shown if listener == "MTLS" else {}),
        }

    def context(self, listener: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        if listener == "MTLS":
            context.load_cert_chain(self.folder / "client.pem")
        return context

    def java(self, listener: str) -> str:
        """The file for Kafka's own tools."""
        file = self.folder / f"{listener}.properties"
        lines = [
            "security.protocol=SSL",
            f"ssl.truststore.location={self.folder}/trust.p12",
            f"ssl.truststore.password={certificates.PASSWORD}",
        ]
        if listener == "MTLS":
            lines += [
                f"ssl.keystore.location={self.folder}/client.p12",
                f"ssl.keystore.password={certificates.PASSWORD}",
            ]
        file.write_text("\n".join(lines))
        return str(file)


def start_kafka(folder: Path, settings: Mapping[str, str], port: str) -> None:
    options = [word for key, value in settings.items() for word in ("--config", f"{key}={value}")]
    start = [str(KAFKA), "start", "--port", port, "--data", str(folder / "data"), *options]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module", params=["kafkalite", pytest.param("kafka", marks=pytest.mark.jvm)])
def secured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    client = certificates.client()
    (folder / "ca.pem").write_text(certificates.authority().pem)
    (folder / "client.pem").write_text(client.key_pem() + client.pem)
    (folder / "trust.p12").write_bytes(certificates.authority().pkcs12())
    (folder / "client.p12").write_bytes(client.pkcs12())
    addresses = {
        name: f"127.0.0.1:{port}" for name, port in zip(NAMES, free_ports(len(NAMES)), strict=True)
    }
    listeners = ",".join(f"{name}://{address}" for name, address in addresses.items())
    settings = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,MTLS:SSL,JKS:SSL",
        "listener.name.mtls.ssl.client.auth": "required",
        "listener.name.jks.ssl.keystore.location": str(STORES / "several.jks"),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        **certificates.settings_of(folder),
    }
    if request.param == "kafkalite":
        broker = KafkaliteProcess.start(folder / "data", settings=settings)
        yield Secured(addresses, folder)
        assert broker.stop() == 0
        return
    settings["listeners"] += ",CONTROLLER://127.0.0.1:@CPORT@"
    settings["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    start_kafka(folder, settings, addresses["PLAINTEXT"].rpartition(":")[2])
    try:
        yield Secured(addresses, folder)
    finally:
        stop = [str(KAFKA), "stop", str(folder / "data")]
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder / "data")


@pytest.fixture
def made(secured: Secured, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": secured.addresses["PLAINTEXT"]})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(WAIT_S)
    return topic


BOTH = pytest.mark.parametrize("listener", ["SSL", "MTLS"])


@BOTH
def test_librdkafka(secured: Secured, made: str, listener: str) -> None:
    assert by_librdkafka(secured.librdkafka(listener), made, VALUES) == VALUES


@BOTH
def test_kafka_python(secured: Secured, made: str, listener: str) -> None:
    assert by_kafka_python(secured.python(listener), made, VALUES) == VALUES


@BOTH
def test_aiokafka(secured: Secured, made: str, listener: str) -> None:
    assert by_aiokafka(secured.python(listener), made, VALUES) == VALUES


@pytest.mark.jvm
def test_kafkas_own_tools(secured: Secured, made: str) -> None:
    """By mutual TLS; what they do for TLS alone is a part of it."""
    reached = ("--bootstrap-server", secured.addresses["MTLS"])
    file = secured.java("MTLS")
    produced = run_tool(
        "kafka-console-producer",
        [*reached, "--topic", made, "--command-config", file],
        stdin="tea\ncoffee\n",
    )
    assert (produced.status, produced.stderr) == (0, "")
    words = ("--topic", made, "--from-beginning", "--max-messages", "2", "--command-config", file)
    consumed = run_tool("kafka-console-consumer", [*reached, *words])
    assert (consumed.status, consumed.stdout) == (0, "tea\ncoffee\n")


@BOTH
def test_commands(
    secured: Secured,
    topic: str,
    listener: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafkalite = CommandLine(capsys, monkeypatch)
    words = ("--bootstrap", secured.addresses[listener], "--command-config", secured.java(listener))
    kafkalite("topics", "create", topic, *words)
    kafkalite("produce", topic, *words, typed=b"tea\n")
    assert kafkalite("consume", topic, "--raw", *words) == "tea\n"


@pytest.mark.jvm
def test_commands_with_stores_in_javas_own_format(
    secured: Secured,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As keytool makes them; the key has a password of its own, and the trust store's is not
    said."""
    for name, more in (
        ("client", ["-destkeypass", "of-the-key", "-srcalias", "own"]),
        ("trust", []),
    ):
        words = ["-noprompt", "-srckeystore", str(secured.folder / f"{name}.p12")]
        words += ["-srcstorepass", certificates.PASSWORD, "-deststorepass", "of-the-store"]
        words += ["-destkeystore", str(tmp_path / f"{name}.jks"), "-deststoretype", "JKS", *more]
        subprocess.run(["keytool", "-importkeystore", *words], check=True, capture_output=True)
    file = tmp_path / "client.properties"
    lines = [
        "security.protocol=SSL",
        f"ssl.truststore.location={tmp_path}/trust.jks",
        f"ssl.keystore.location={tmp_path}/client.jks",
        "ssl.keystore.password=of-the-store",
        "ssl.key.password=of-the-key",
    ]
    file.write_text("\n".join(lines))
    kafkalite = CommandLine(capsys, monkeypatch)
    words = ["--bootstrap", secured.addresses["MTLS"], "--command-config", str(file)]
    assert isinstance(kafkalite.json("topics", "list", *words), list)


def test_the_key_of_several_that_is_shown(secured: Secured) -> None:
    context = secured.context("SSL")
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with dialed(secured, "JKS") as plain, context.wrap_socket(plain) as encrypted:
        shown = encrypted.getpeercert(binary_form=True)
    assert shown is not None
    subject = x509.load_der_x509_certificate(shown).subject
    assert subject.rfc4514_string() == "CN=kafka2"


def test_commands_that_do_not_speak_tls_say_what_is_missing(
    secured: Secured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: kafka-python would ask again until its time is over, and not say why."""
    monkeypatch.setattr(connection, "_ANSWER_WITHIN_MS", FOR_LONG_MS)
    kafkalite, address = CommandLine(capsys, monkeypatch), secured.addresses["SSL"]
    line = kafkalite.refusal("topics", "list", "--bootstrap", address)
    assert line.startswith(f"kafkalite: {address} speaks TLS; say security.protocol=SSL ")


def dialed(secured: Secured, listener: str) -> socket.socket:
    host, _, port = secured.addresses[listener].rpartition(":")
    return socket.create_connection((host, int(port)), WAIT_S)


def test_who_does_not_speak_tls_is_hung_up_on(secured: Secured) -> None:
    """A request of ApiVersions, where a ClientHello is due."""
    with dialed(secured, "SSL") as plain:
        plain.sendall(b"\x00\x00\x00\x0e\x00\x12\x00\x00\x00\x00\x00\x01\x00\x04test")
        answer = b""
        while chunk := plain.recv(4096):
            answer += chunk
    assert answer == bytes.fromhex("15 0303 0002 02 50"), "an alert of TLS: internal_error"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_who_shows_no_certificate_where_one_is_due(
    secured: Secured, version: ssl.TLSVersion
) -> None:
    context = secured.context("SSL")
    context.minimum_version = context.maximum_version = version
    with (
        dialed(secured, "MTLS") as plain,
        pytest.raises(ssl.SSLError) as refused,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        encrypted.recv(1)
    assert refused.value.reason is not None
    assert "ALERT" in refused.value.reason


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_each_version_is_spoken(secured: Secured, version: ssl.TLSVersion) -> None:
    context = secured.context("SSL")
    context.minimum_version = context.maximum_version = version
    with (
        dialed(secured, "SSL") as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        assert encrypted.version() == version.name.replace("_", ".")
        assert encrypted.getpeercert(binary_form=True) == certificates.broker().der


def test_an_older_version_is_not(secured: Secured) -> None:
    context = secured.context("SSL")
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with dialed(secured, "SSL") as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="127.0.0.1")

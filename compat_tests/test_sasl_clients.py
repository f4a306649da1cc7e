"""Clients over SASL, of kafkalite and of the real Kafka with the same settings: whom PLAIN and
SCRAM let in, what a group reads, and what those see who have the wrong password.

The programs in other languages take long, and the real Kafka does not change: with SASL_ON_KAFKA=1
they are put to it too, as `make conformance` does.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from compat_tests.cli.command_line import CommandLine
from compat_tests.java.jars import Module, programs
from compat_tests.java.test_java_clients import java
from compat_tests.java.tools import run as run_tool
from compat_tests.oracle.free_port import free_ports
from compat_tests.process import KafkaliteProcess
from compat_tests.programs import Command, program
from compat_tests.real_kafka import RealKafka
from compat_tests.sample import BASE_TIMESTAMP
from compat_tests.there_and_back import by_aiokafka, by_kafka_python, by_librdkafka
from kafkalite.config.inter_broker_login import InterBrokerLogin
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode
from kafkalite.errors import KafkaError as RequestError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.ports.clock import RealClock
from kafkalite.ports.entropy import RealEntropy
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.schema import Response
from kafkalite.server.peer_login import PeerLogin
from kafkalite.server.peers import Peers
from tests.server.asking_peers import ME, OTHER, image

pytestmark = pytest.mark.needs_process

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (PLAIN, *SCRAM)
"""Those with passwords."""
BY_EACH = pytest.mark.parametrize("mechanism", [PLAIN, "SCRAM-SHA-512"])
NAME, PASSWORD = "alice", "alice-secret"
WRONG = "another-secret"
VALUES = [b"%d" % number for number in range(10)]
WAIT_S = 30.0
PATIENCE_S = 150
ITERATIONS = 4_096
SESSION_MS = 1_500
"""A broker of Kafka takes no other login before a second is over."""
JAAS = "sasl.jaas.config"
SUBJECT = "unsecuredLoginStringClaim_sub"
MODULE = "org.apache.kafka.common.security"


class Sasl(NamedTuple):
    """A broker that `NAME` is known to, by all mechanisms."""

    plaintext: str
    """Where nobody is asked."""
    asking: str
    short: str
    """Where a session lasts for `SESSION_MS`."""

    def librdkafka(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        return {
            "bootstrap.servers": self.asking,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": NAME,
            "sasl.password": password,
        }

    def python(self, mechanism: str, password: str = PASSWORD) -> dict[str, Any]:  # Any: settings.
        return {
            "bootstrap_servers": self.asking,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": mechanism,
            "sasl_plain_username": NAME,
            "sasl_plain_password": password,
        }

    def java(self, folder: Path, mechanism: str, password: str = PASSWORD) -> str:
        """The file for Kafka's own tools, and for kafkalite's commands."""
        file = folder / "client.properties"
        lines = [
            "security.protocol=SASL_PLAINTEXT",
            f"sasl.mechanism={mechanism}",
            f'{JAAS}={_module(mechanism)} required username="{NAME}" password="{password}";',
        ]
        file.write_text("\n".join(lines))
        return str(file)


def _module(mechanism: str) -> str:
    if mechanism == OAUTHBEARER:
        return f"{MODULE}.oauthbearer.OAuthBearerLoginModule"
    name = "plain.PlainLoginModule" if mechanism == PLAIN else "scram.ScramLoginModule"
    return f"{MODULE}.{name}"


def _settings(listeners: str) -> dict[str, str]:
    logins = {PLAIN: f' user_{NAME}="{PASSWORD}"', **dict.fromkeys(SCRAM, "")}
    logins[OAUTHBEARER] = f' {SUBJECT}="{NAME}"'
    return {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ASKING:SASL_PLAINTEXT,"
        "SHORT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(logins),
        **{
            f"listener.name.{name}.{each.lower()}.{JAAS}": f"{_module(each)} required{said};"
            for name in ("asking", "short")
            for each, said in logins.items()
        },
        "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
    }


def _make_known(address: str) -> None:
    """By SCRAM; by PLAIN the settings do it."""
    admin = AdminClient({"bootstrap.servers": address})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, ITERATIONS)
        made = UserScramCredentialUpsertion(NAME, info, PASSWORD.encode())
        admin.alter_user_scram_credentials([made])[NAME].result(WAIT_S)


REAL = pytest.param("kafka", marks=pytest.mark.jvm)


@pytest.fixture(scope="module", params=["kafkalite", REAL])
def sasl(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sasl]:
    folder = tmp_path_factory.mktemp("sasl") / "data"
    found = Sasl(*(f"127.0.0.1:{port}" for port in free_ports(3)))
    names = ("PLAINTEXT", "ASKING", "SHORT")
    settings = _settings(",".join(map("{}://{}".format, names, found)))
    if request.param == "kafkalite":
        broker = KafkaliteProcess.start(folder, settings=settings)
        _make_known(found.plaintext)
        yield found
        assert broker.stop() == 0
        return
    settings["listeners"] += ",CONTROLLER://127.0.0.1:@CPORT@"
    settings["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    kafka = RealKafka(folder, settings, port=int(found.plaintext.rpartition(":")[2]))
    try:
        _make_known(found.plaintext)
        yield found
    finally:
        kafka.end("stopped")


@pytest.fixture
def made(sasl: Sasl, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": sasl.plaintext})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(WAIT_S)
    return topic


class Program(NamedTuple):
    """Of another language, as `language_cases.py` has it."""

    language: str
    library: str
    refused: str | None
    """In what it says of a wrong password; None: it tries on for long."""

    def command(self) -> Command:
        if self.language == "java":
            return java(programs("clients-2.8"), cast("Module", self.library))
        return program(self.language)

    def run(
        self, sasl: Sasl, topic: str, mechanism: str, password: str, handshake: str = "1"
    ) -> dict[str, Any]:
        """What it tells (Any: JSON)."""
        done = subprocess.run(
            [*self.command(), self.library, "resume", topic],
            env={
                **os.environ,
                "BOOTSTRAP": sasl.asking,
                "BASE_TIMESTAMP": str(BASE_TIMESTAMP),
                "SASL_MECHANISM": mechanism,
                "SASL_USERNAME": NAME,
                "SASL_PASSWORD": password,
                "SASL_HANDSHAKE": handshake,
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.stdout, done.stderr[-2_000:]
        told: dict[str, Any] = json.loads(done.stdout)
        return told


PROGRAMS = [
    Program("java", "clients-4.4", "SaslAuthenticationException: Authentication failed"),
    Program("java", "clients-2.8", "SaslAuthenticationException: Authentication failed"),
    Program("go", "franz-go", "SASL_AUTHENTICATION_FAILED"),
    Program("go", "sarama", "SASL Authentication failed: Authentication failed"),
    Program("go", "kafka-go", "Broker Not Available"),
    Program("node", "kafkajs", "KafkaJSSASLAuthenticationError"),
    Program("node", "platformatic", None),
    Program("rust", "rdkafka", None),
]


@pytest.mark.parametrize(
    "sasl", ["kafkalite", *([REAL] if "SASL_ON_KAFKA" in os.environ else [])], indirect=True
)
@pytest.mark.parametrize(
    "client",
    [
        pytest.param(
            each,
            id=each.library,
            marks=getattr(pytest.mark, "jvm" if each.language == "java" else each.language),
        )
        for each in PROGRAMS
    ],
)
def test_programs(sasl: Sasl, topic: str, client: Program) -> None:
    """All at once: by either mechanism, and with the wrong password. sarama also as it was before
    KIP-152, when the mechanism's bytes followed the handshake in no request."""
    # The library for Rust is built without OpenSSL here, and so without SCRAM.
    mechanisms = [PLAIN] if client.language == "rust" else [PLAIN, "SCRAM-SHA-512"]
    handshakes = "01" if client.library == "sarama" else "1"
    client.command()  # It may have to be built.
    with ThreadPoolExecutor() as threads:

        def start(mechanism: str, password: str, handshake: str = "1") -> Future[dict[str, Any]]:
            fresh = f"{topic}-{mechanism}-{handshake}"
            return threads.submit(client.run, sasl, fresh, mechanism, password, handshake)

        going = {each: start(*each) for each in product(mechanisms, [PASSWORD], handshakes)}
        if client.refused is not None:
            refused = start(mechanisms[-1], WRONG).result()
            assert not refused["ok"]
            assert client.refused in json.dumps(refused)
        rest = list(range(20, 30))
        for how, run in going.items():
            told = run.result()
            assert told.pop("ok"), (how, told)
            assert told["received"] == [list(range(30)), rest, rest], how


@BY_EACH
def test_librdkafka(sasl: Sasl, made: str, mechanism: str) -> None:
    assert by_librdkafka(sasl.librdkafka(mechanism), made, VALUES) == VALUES


@BY_EACH
def test_librdkafka_with_the_wrong_password(sasl: Sasl, mechanism: str) -> None:
    told: list[KafkaError] = []
    settings = {**sasl.librdkafka(mechanism, WRONG), "error_cb": told.append, "log_level": 0}
    Producer(settings).poll(WAIT_S)
    assert told[0].code() == KafkaError._AUTHENTICATION
    assert "SASL authentication error: Authentication failed" in told[0].str()


@BY_EACH
def test_kafka_python(sasl: Sasl, made: str, mechanism: str) -> None:
    assert by_kafka_python(sasl.python(mechanism), made, VALUES) == VALUES


@BY_EACH
def test_aiokafka(sasl: Sasl, made: str, mechanism: str) -> None:
    assert by_aiokafka(sasl.python(mechanism), made, VALUES) == VALUES


def test_aiokafka_with_the_wrong_password(sasl: Sasl, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        producer = AIOKafkaProducer(**sasl.python(PLAIN, WRONG))
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(KafkaConnectionError):
        asyncio.run(run())
    assert "SaslAuthenticationFailed: Authentication failed" in caplog.text


@pytest.mark.kcat
def test_kcat(sasl: Sasl, made: str) -> None:
    """By PLAIN. By SCRAM, Debian's kcat 1.7.1 with librdkafka 2.0.2 is let in by neither broker."""

    def kcat(password: str, *words: str, lines: str = "") -> subprocess.CompletedProcess[str]:
        settings = sasl.librdkafka(PLAIN, password)
        sets = [f"-X{name}={value}" for name, value in settings.items()]
        command = [*program("kcat"), *sets, *words]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=False)

    assert kcat(PASSWORD, "-P", "-t", made, lines="tea\ncoffee\n").returncode == 0
    read = kcat(PASSWORD, "-q", "-c", "2", "-Xauto.offset.reset=earliest", "-G", made, made)
    assert (read.returncode, read.stdout) == (0, "tea\ncoffee\n")
    refused = kcat(WRONG, "-P", "-t", made, lines="tea\n")
    assert refused.returncode == 1
    assert "Local: Authentication failure" in refused.stderr


@pytest.mark.jvm
def test_kafkas_own_tools(sasl: Sasl, made: str, tmp_path: Path) -> None:
    file = sasl.java(tmp_path, "SCRAM-SHA-256")
    words = ("--bootstrap-server", sasl.asking, "--list", "--command-config", file)
    listed = run_tool("kafka-topics", words)
    assert listed.status == 0, listed.stderr
    assert made in listed.stdout.split()


@BY_EACH
def test_commands(
    sasl: Sasl,
    topic: str,
    mechanism: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafkalite = CommandLine(capsys, monkeypatch)
    words = ("--bootstrap", sasl.asking, "--command-config", sasl.java(tmp_path, mechanism))
    kafkalite("topics", "create", topic, *words)
    kafkalite("produce", topic, *words, typed=b"tea\n")
    assert kafkalite("consume", topic, "--raw", *words) == "tea\n"
    sasl.java(tmp_path, mechanism, WRONG)
    line = kafkalite.refusal("topics", "list", *words)
    assert line.startswith(f"kafkalite: {NAME}: Authentication failed")


def test_commands_with_an_unsigned_token(
    sasl: Sasl,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={OAUTHBEARER}\n"
        f'{JAAS}={_module(OAUTHBEARER)} required {SUBJECT}="{NAME}";'
    )
    kafkalite = CommandLine(capsys, monkeypatch)
    words = ("--bootstrap", sasl.asking, "--command-config", str(file))
    assert isinstance(kafkalite.json("topics", "list", *words), list)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_another_broker(sasl: Sasl, mechanism: str) -> None:
    login = InterBrokerLogin(mechanism, NAME, PASSWORD)
    answers, _ = asyncio.run(_ask_as_a_broker(sasl.asking, login, 0))
    assert [type(each) for each in answers] == [MetadataResponse]


def test_another_broker_logs_in_anew_before_its_session_is_over(sasl: Sasl) -> None:
    """What `server.peers` asks for longer than one lasts, on one connection."""
    login = InterBrokerLogin(SCRAM[0], NAME, PASSWORD)
    answers, connections = asyncio.run(_ask_as_a_broker(sasl.short, login, SESSION_MS * 6 // 5))
    assert {type(each) for each in answers} == {MetadataResponse}
    assert connections == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_another_broker_with_the_wrong_password(
    sasl: Sasl, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    login = InterBrokerLogin(mechanism, NAME, WRONG)
    answers, _ = asyncio.run(_ask_as_a_broker(sasl.asking, login, 0))
    assert [each.code for each in answers if isinstance(each, RequestError)] == [
        ErrorCode.NETWORK_EXCEPTION
    ]
    assert "broker 1 does not let this one log in: Authentication failed" in caplog.text


async def _ask_as_a_broker(
    address: str, login: InterBrokerLogin, for_ms: int
) -> tuple[list[Response | RequestError], int]:
    """The answers, and how many connections that took."""
    clock, entropy = RealClock(), RealEntropy()
    made: list[PeerLogin] = []

    def new_login() -> PeerLogin:
        made.append(PeerLogin(login, entropy.token_bytes(18)))
        return made[-1]

    peers = Peers(ME, SocketNetwork(clock), clock, BrokerConfig(), new_login=new_login)
    host, _, port = address.rpartition(":")
    peers.apply(image(host, int(port)), MetadataDelta())
    answers: list[Response | RequestError] = []
    until_ms = clock.now_ms() + for_ms
    while not answers or clock.now_ms() < until_ms:
        answer = asyncio.get_running_loop().create_future()
        peers.ask(OTHER, MetadataRequest(topics=[]), answer.set_result, timeout_ms=10_000)
        answers.append(await answer)
    peers.stop()
    return answers, len(made)

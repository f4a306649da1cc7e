"""`kafkalite serve --set`: what acts, and what is refused in one line with exit code 2."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.client import Client
from tests.cli.serving import ran, serving, talk
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE

METADATA = 9


def test_settings_act_and_of_two_the_last(tmp_path: Path) -> None:
    async def check(client: Client) -> None:
        answer = await client.ask(produce("t", {0: batch(b"x")}), PRODUCE, ProduceResponse)
        assert produced(answer)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        response = await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        assert [(node.node_id, node.host) for node in response.brokers] == [(7, "kafka.example")]

    with serving(
        "--ephemeral",
        "--set=node.id=3",
        "--set=node.id=7",
        "--set",
        "listeners=PLAINTEXT://127.0.0.1:0",
        "--set=advertised.listeners=PLAINTEXT://kafka.example:9",
        folder=tmp_path,
        port=None,
    ) as served:
        talk(served.port, check)
        assert served.end(signal.SIGTERM)[0] == 0


def test_a_setting_of_kafkas_that_has_no_effect_here_is_taken(tmp_path: Path) -> None:
    with serving("--ephemeral", "--set=num.io.threads=16", folder=tmp_path) as served:
        assert served.end(signal.SIGTERM)[0] == 0


def test_an_unknown_setting_is_a_warning_that_names_the_nearest(tmp_path: Path) -> None:
    with serving("--ephemeral", "--set=num.partitons=3", folder=tmp_path) as served:
        code, log = served.end(signal.SIGTERM)
    assert code == 0
    (line,) = [line for line in log.splitlines() if " WARNING " in line]
    assert "num.partitons" in line
    assert "nearest is num.partitions" in line


def partitions(topic: str, number: int) -> Callable[[Client], Awaitable[None]]:
    async def check(client: Client) -> None:
        await client.ask(produce(topic, {0: batch(b"x")}), PRODUCE, ProduceResponse)  # Makes it.
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        response = await client.ask(request, METADATA, MetadataResponse)
        assert len(response.topics[0].partitions) == number

    return check


def test_fsync_is_a_setting(tmp_path: Path) -> None:
    async def check(client: Client) -> None:
        resource = DescribeConfigsResource(
            resource_type=4, resource_name="1", configuration_keys=["kafkalite.fsync"]
        )
        request = DescribeConfigsRequest(resources=[resource])
        response = await client.ask(request, 4, DescribeConfigsResponse)
        (setting,) = response.results[0].configs
        assert setting.value == "true"
        answer = await client.ask(produce("a", {0: batch(b"x")}), PRODUCE, ProduceResponse)
        assert produced(answer)[0].error_code == ErrorCode.NONE

    with serving("--fsync", "--topic", "a", folder=tmp_path) as served:
        talk(served.port, check)


def test_files_the_environment_and_options_each_are_stronger_than_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").write_text("num.partitions=2\nlog.dirs=from-file\n")
    (tmp_path / "second").write_text("num.partitions=3\n")
    files = ("--config", "first", "--config=second")
    with serving(*files, folder=tmp_path) as served:
        assert served.where == "from-file"
        talk(served.port, partitions("a", 3))
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "4")
    with serving(*files, "--data", "d", folder=tmp_path) as served:
        assert served.where == "d"
        talk(served.port, partitions("a", 4))
    with serving(*files, "--ephemeral", "--set=num.partitions=5", folder=tmp_path) as served:
        assert served.where == "memory"
        talk(served.port, partitions("a", 5))
    with serving(*files, "--ephemeral", "--partitions", "6", folder=tmp_path) as served:
        talk(served.port, partitions("a", 6))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["kafkalite.record.validation=half"],
            ["half", "kafkalite.record.validation", "header or full"],
        ),
        (["num.partitions=0"], ["num.partitions=0", "from 1 to"]),
        (["num.partitions"], ["num.partitions", "KEY=VALUE"]),
        (["=3"], ["KEY=VALUE"]),
        (
            ["listeners=SASL_PLAINTEXT://localhost:9093"],
            ["Invalid value GSSAPI (its default) for", "name some of PLAIN, SCRAM-SHA-256"],
        ),
        (
            ["listeners=SASL_PLAINTEXT://:9093", "sasl.enabled.mechanisms=PLAIN"],
            ["Could not find a 'KafkaServer'", "let listener.name.sasl_plaintext.plain.sasl.jaas"],
        ),
        (
            [
                *("listeners=SASL_PLAINTEXT://:9093", "sasl.enabled.mechanisms=PLAIN"),
                "kafkalite.java.security.auth.login.config=file:/no/jaas.conf",
            ],
            ["login.config=file:/no/jaas.conf: No such file or directory; put the file there"],
        ),
        (
            ["listeners=SSL://:9093", "ssl.keystore.location=k.p12", "ssl.keystore.password=p"],
            [
                "ssl.keystore.location=k.p12: No such file or directory; put the file there",
                "(--set)",
            ],
        ),
        (["listeners=PLAINTEXT://localhost"], ["Unable to parse PLAINTEXT://localhost"]),
        (["max.connections.per.ip=0"], ["max.connections.per.ip.overrides"]),
        (["listeners=PLAINTEXT://localhost:0", "--port=0"], ["--port", "listeners"]),
        (["num.partitions=3", "--partitions=4"], ["--partitions and --set num.partitions="]),
        (["log.dirs=d"], ["--ephemeral and --set log.dirs=... cannot go together"]),
        (["log.dir=d"], ["--ephemeral and --set log.dir=... cannot go together"]),
        (["--config=there/is/none"], ["--config there/is/none", "No such file"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: list[str], says: list[str]) -> None:
    arguments = [each if each.startswith("--") else f"--set={each}" for each in options]
    ended = ran("serve", "--ephemeral", *arguments)
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    (line,) = ended.stderr.splitlines()
    assert line.startswith("kafkalite: ")
    for text in says:
        assert text in line


def test_one_folder_is_not_named_twice() -> None:
    ended = ran("serve", "--port=0", "--data=d", "--set=log.dirs=e")
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    says = "--data and --set log.dirs=... cannot go together; use one of them"
    assert ended.stderr == f"kafkalite: {says}\n"


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("KAFKA_LISTENERS", "foo", "expected NAME://HOST:PORT"),
        ("KAFKA_LISTENERS", "FOO://:9092", "such as FOO:PLAINTEXT"),
        ("KAFKA_LISTENERS", "SASL_PLAINTEXT://:9092", "Kerberos is not spoken here; name some of"),
        ("KAFKA_LISTENERS", "SSL://:9092", "has no key store; let ssl.keystore.location name one"),
        ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://0.0.0.0:9092", "Use a routable IP address"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "A:B", "allowed are PLAINTEXT, SSL"),
        ("KAFKA_INTER_BROKER_LISTENER_NAME", "X", "not found in listener.security.protocol.map"),
    ],
)
def test_where_listeners_are_set_that_cannot_be_and_what_can(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value)
    ended = ran("serve", "--ephemeral")
    assert (ended.returncode, ended.stdout) == (2, "")
    last = ended.stderr.splitlines()[-1]
    assert says in last
    assert f"; see {variable.removeprefix('KAFKA_').lower().replace('_', '.')} ({variable})" in last
    assert last.endswith("; --port 9092 starts without them")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {
                "KAFKA_ADVERTISED_LISTENERS": "SSL://localhost:9093",
                "KAFKA_SSL_KEYSTORE_FILENAME": "../../none/kafka.jks",
                "KAFKA_SSL_KEYSTORE_PASSWORD": "p",
            },
            "ssl.keystore.location=/etc/kafka/secrets/../../none/kafka.jks: No such file or "
            "directory; put the file there, or name another; see ssl.keystore.location "
            "(KAFKA_SSL_KEYSTORE_FILENAME)",
        ),
        (
            {
                "KAFKA_LISTENERS": "CONTROLLER://:9093",
                "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
                "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT",
                "KAFKA_PROCESS_ROLES": "broker,controller",
            },
            "There must be at least one broker advertised listener. Perhaps all listeners appear "
            "in controller.listener.names?; add one for clients, such as PLAINTEXT://:9092; see "
            "listeners (KAFKA_LISTENERS) and controller.listener.names "
            "(KAFKA_CONTROLLER_LISTENER_NAMES)",
        ),
    ],
)
def test_a_broker_that_no_client_could_use_says_how_one_could(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], says: str
) -> None:
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    ended = ran("serve", "--ephemeral")
    assert (ended.returncode, ended.stdout) == (2, "")
    last = ended.stderr.splitlines()[-1]
    assert last == f"kafkalite: {says}; --port 9092 starts without them"


def test_listeners_of_the_command_line_do_not_go_together_with_a_port() -> None:
    ended = ran("serve", "--ephemeral", "--set=listeners=SSL://:9093")
    assert "key store; let ssl.keystore.location name one" in ended.stderr
    assert "see listeners (--set)" in ended.stderr
    assert "--port" not in ended.stderr

"""`kafkalite serve`: first topics, the ready file, and what it tells machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalite.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.testing.client import Client
from tests.cli.serving import COMMAND, environment, ran, serving, talk

METADATA = 9


async def check_topics(client: Client) -> None:
    response = await client.ask(MetadataRequest(topics=None), METADATA, MetadataResponse)
    assert {topic.name: len(topic.partitions) for topic in response.topics} == {"a": 3, "b": 2}


def test_topics_are_there_when_it_is_ready_and_are_not_made_twice(tmp_path: Path) -> None:
    options = ("--topic", "a:3", "--topic=b", "--partitions", "2", "--data", "d")
    for _ in range(2):
        with serving(*options, folder=tmp_path) as served:
            talk(served.port, check_topics)
            assert served.end(signal.SIGTERM)[0] == 0


def test_topics_of_an_images_variable_are_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CREATE_TOPICS", "a:3:1, b:2:1:compact")

    async def check(client: Client) -> None:
        await check_topics(client)
        wanted = DescribeConfigsResource(
            resource_type=2, resource_name="b", configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[wanted])
        answer = await client.ask(request, 4, DescribeConfigsResponse)
        configs = {each.name: each.value for each in answer.results[0].configs}
        assert configs["cleanup.policy"] == "compact"

    with serving("--ephemeral", folder=tmp_path) as served:
        talk(served.port, check)
        assert served.end(signal.SIGTERM) == (0, "")


def test_a_topic_that_cannot_be_made_ends_it(tmp_path: Path) -> None:
    ended = ran("serve", "--port", "0", "--ephemeral", "--topic", "a/b")
    assert ended.returncode == 1
    assert ended.stdout == ""
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("kafkalite: topic 'a/b' cannot be created: ")


def test_the_ready_file_is_there_while_it_serves(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    file.write_text("of a broker that was killed")
    with serving("--ephemeral", "--ready-file", str(file), folder=tmp_path) as served:
        assert file.read_text() == f"127.0.0.1:{served.port}\n"
        assert served.end(signal.SIGTERM)[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_the_ready_file_of_a_broker_that_does_not_start_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    file.write_text("of a broker that was killed")
    with serving("--data", "d", folder=tmp_path):
        ended = ran("serve", "--port=0", f"--data={tmp_path}/d", f"--ready-file={file}")
    assert ended.returncode == 1
    assert not file.exists()


def test_a_ready_file_that_cannot_be_is_told_with_a_remedy(tmp_path: Path) -> None:
    ended = ran("serve", "--port=0", "--ephemeral", f"--ready-file={tmp_path}/none/ready")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert f"cannot use {tmp_path}/none/ready (No such file or directory)" in last
    assert "--ready-file" in last


@contextmanager
def started(*options: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port=0", *options],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_machines_are_told_in_json_where_it_is_and_what_happens(tmp_path: Path) -> None:
    options = ("--data=d", "--json", "--log-format=json", "--set=num.partitons=3")
    with started(*options, folder=tmp_path) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready.keys() == {"bootstrap", "data", "started_in_ms", "listeners"}
        assert ready["bootstrap"].startswith("127.0.0.1:")
        assert ready["data"] == "d"
        assert ready["listeners"] == {"PLAINTEXT": ready["bootstrap"]}
        process.send_signal(signal.SIGTERM)
        more, log = process.communicate(timeout=60)
    assert (process.returncode, more) == (0, "")
    events = [json.loads(line) for line in log.splitlines()]
    for event in events:
        assert event.keys() == {"time", "level", "logger", "message"}
    (event,) = events
    assert event["level"] == "WARNING"
    assert "num.partitons" in event["message"]


def test_data_in_memory_is_null_for_machines(tmp_path: Path) -> None:
    with started("--ephemeral", "--json", folder=tmp_path) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["data"] is None


def test_it_ends_without_a_traceback_when_nobody_can_read_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port=0", "--ephemeral", f"--ready-file={file}"],
        env=environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGPIPE
    assert log == ""
    assert not file.exists()

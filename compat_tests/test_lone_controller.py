"""What clients hear that mistake a controller alone for a broker: of kafkalite as of the real
Kafka, which a published compose file starts with the same settings."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from compat_tests.oracle.free_port import free_ports
from compat_tests.process import KafkaliteProcess
from compat_tests.waiting import wait_until
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.testing.client import Client
from tests.cli.serving import talk

pytestmark = pytest.mark.needs_process
KAFKA = Path(__file__).parent / "oracle" / "kafka"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def settings(port: int) -> dict[str, str]:
    return {
        "process.roles": "controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
    }


@pytest.fixture(scope="module", params=["kafkalite", pytest.param("kafka", marks=pytest.mark.jvm)])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("controller")
    (port,) = free_ports(1)
    if request.param == "kafkalite":
        process = KafkaliteProcess.start(folder / "data", settings=settings(port))
        yield port
        assert process.stop() == 0
        return
    properties = folder / "controller.properties"
    lines = {**settings(port), "log.dirs": str(folder / "data")}
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    format = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", properties)
    subprocess.run([KAFKA, "java", *format], check=True, capture_output=True)
    with (folder / "log").open("w") as log:
        kafka = subprocess.Popen(
            [KAFKA, "java", "kafka.Kafka", properties],
            stdout=log,
            stderr=log,
            start_new_session=True,  # The script's, of which Java is a child.
        )
    try:
        wait_until(lambda: takes_connections(port), "the controller does not listen")
        yield port
    finally:
        os.killpg(kafka.pid, signal.SIGKILL)
        kafka.wait()


def takes_connections(port: int) -> bool:
    """What `nc -z` asks."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_librdkafka_is_told_that_it_is_no_broker(port: int) -> None:
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
    with pytest.raises(KafkaException) as refused:
        client.list_topics(timeout=10)
    assert re.search("Required feature not supported by broker", str(refused.value))


def test_it_lists_no_metadata_and_hangs_up_upon_it(port: int) -> None:
    async def check(client: Client) -> None:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        listed = await client.ask(request, 3, ApiVersionsResponse)
        keys = {each.api_key for each in listed.api_keys}
        assert ApiKey.API_VERSIONS in keys
        assert ApiKey.METADATA not in keys
        with pytest.raises(ConnectionError):
            await client.ask(MetadataRequest(topics=[]), 9, MetadataResponse)

    assert takes_connections(port)
    talk(port, check)

"""`kafkalite serve`: the ready line, both loopback addresses, stops, and starts that fail."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit
from select import select

import pytest

from kafkalite.cli.errors import CommandError
from kafkalite.cli.start_failures import explained
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError, ProtocolError
from kafkalite.log.checkpoints import format_partition_metadata
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.this_machine import fail_on_broken_invariants
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from kafkalite.types import Uuid
from tests.cli.serving import COMMAND, connect, environment, loopback_addresses, ran, serving, talk
from tests.server.requests import batch, fetch, fetched, list_offsets, produce, produced, values
from tests.server.running import FETCH, PRODUCE, make, simulated

METADATA, LIST_OFFSETS = 9, 7
LATEST = -1
CLEAN = ".kafka_cleanshutdown"


async def make_topic(client: Client) -> None:
    response = await client.ask(named("t"), METADATA, MetadataResponse)
    assert response.topics[0].error_code == ErrorCode.NONE


def named(*topics: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=topic) for topic in topics])


async def write(client: Client) -> None:
    await make_topic(client)
    response = await client.ask(produce("t", {0: batch(b"kept")}), PRODUCE, ProduceResponse)
    assert produced(response)[0].error_code == ErrorCode.NONE


async def read(client: Client) -> None:
    response = await client.ask(fetch("t", {0: 0}), FETCH, FetchResponse)
    assert values(fetched(response)[0]) == [b"kept"]


def test_it_listens_on_both_loopback_addresses_and_tells_each_client_its_own(
    tmp_path: Path,
) -> None:
    hosts = loopback_addresses()
    assert "127.0.0.1" in hosts
    with serving("--data", "d", folder=tmp_path) as served:
        for host in hosts:

            async def check(client: Client, host: str = host) -> None:
                response = await client.ask(named(), METADATA, MetadataResponse)
                told = [(broker.host, broker.port) for broker in response.brokers]
                assert told == [(host, served.port)]

            talk(served.port, check, host)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_it_cleanly_and_what_was_written_is_there_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serving("--data", "d", folder=tmp_path) as served:
        assert served.where == "d"
        talk(served.port, write)
        assert not (tmp_path / "d" / CLEAN).exists()
        code, log = served.end(number)
    assert code == 0, log
    assert "WARNING" not in log
    assert "Traceback" not in log
    assert (tmp_path / "d" / CLEAN).exists()
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, read)


def test_without_options_the_data_is_in_a_folder_that_git_ignores(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as served:
        assert served.where == "kafkalite-data"
    assert (tmp_path / "kafkalite-data" / ".gitignore").read_text() == "*\n"


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, write)
        assert served.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert not (tmp_path / "d" / CLEAN).exists()
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, read)


def test_ephemeral_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    with serving("--ephemeral", folder=tmp_path) as served:
        assert served.where == "memory"
        talk(served.port, write)
        talk(served.port, read)
        assert served.end(signal.SIGTERM)[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_stop_does_not_wait_for_a_parked_fetch_but_answers_it(tmp_path: Path) -> None:
    with serving("--ephemeral", folder=tmp_path) as served:

        async def check(client: Client) -> None:
            await write(client)
            parked = client.send(fetch("t", {0: 1}, max_wait_ms=600_000), FETCH, FetchResponse)
            other = await connect(served.port)
            await other.ask(named(), METADATA, MetadataResponse)  # So the fetch has come too.
            code, log = await asyncio.to_thread(served.end, signal.SIGTERM)
            assert code == 0, log
            assert values(fetched(await parked)[0]) == []

        talk(served.port, check)


# Failures while it serves.


def test_data_that_contradicts_itself_ends_it_with_one_line(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, write)
        assert served.end(signal.SIGTERM)[0] == 0
    with serving("--data", "d", folder=tmp_path) as served:

        async def ask(client: Client) -> None:
            # Logs are opened after the ready line, and what is found then is only a torn end.
            opened = await client.ask(
                list_offsets("t", (0, LATEST)), LIST_OFFSETS, ListOffsetsResponse
            )
            assert opened.topics[0].partitions[0].offset == 1
            with (tmp_path / "d" / "t-0" / f"{0:020d}.log").open("ab") as file:
                file.write(b"from somebody else")
            with pytest.raises(ConnectionError):
                await client.ask(fetch("t", {0: 0}), FETCH, FetchResponse)

        talk(served.port, ask)
        code, log = served.ended()
    assert code == 1
    assert log.splitlines()[-1].startswith("kafkalite: stopped, for its data contradicts itself: ")
    assert not (tmp_path / "d" / CLEAN).exists()


def test_a_stop_that_the_disk_refuses_ends_with_one_line(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:
        (tmp_path / "d" / "recovery-point-offset-checkpoint.tmp").mkdir()
        code, log = served.end(signal.SIGTERM)
    assert code == 1
    assert "Traceback" not in log
    last = log.splitlines()[-1]
    assert last.startswith("kafkalite: no clean stop: ")
    assert last.endswith("; not written: checkpoints: 'd'")
    assert not (tmp_path / "d" / CLEAN).exists()


@simulated
async def test_what_timers_find_broken_ends_it_too(simulation: Simulation) -> None:
    told: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    broken = InvariantError("two leaders")

    def fail(error: Exception) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "default_exception_handler", told.append)
        async with make(simulation, MemoryFiles()) as broker:
            fail_on_broken_invariants(broker)
            failures = []
            for error in (ValueError("a bug"), broken):
                loop.call_soon(fail, error)
                await simulation.sleep(1)
                failures.append(broker.failure)
    assert failures == [None, broken]
    assert [type(context["exception"]) for context in told] == [ValueError]


# Starts that fail: one line that says what to do, and exit code 1.


def refusal(*options: str) -> str:
    ended = ran("serve", *options)
    assert ended.returncode == 1, ended
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith("kafkalite: ")
    return lines[0]


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-"])
def test_with_streams_closed_from_the_start_it_stops_cleanly(tmp_path: Path, closed: str) -> None:
    command = ("sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND)
    with serving("--data", "d", folder=tmp_path, command=command) as served:
        talk(served.port, write)
        assert served.end(signal.SIGTERM) == (0, "")


def test_with_its_output_closed_from_the_start_it_serves_and_stops_cleanly(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "ready"
    words = ("serve", "--port=0", "--data=d")
    process = subprocess.Popen(
        ["sh", "-c", f'exec "$@" --ready-file={ready} >&-', "sh", *COMMAND, *words],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not ready.exists():
            assert process.stderr is not None
            assert select([process.stderr], [], [], 0.01)[0] == [], "it says nothing"
        talk(int(ready.read_text().rpartition(":")[2]), write)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=10)[1] == ""
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    assert not ready.exists()


@pytest.mark.parametrize("limit", [10, 12, 80])
def test_too_few_descriptors_are_told_in_one_line(limit: int) -> None:
    """Some are too few for an event loop, and some for any client."""
    ended = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@" serve --ephemeral', "sh", *COMMAND],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("kafkalite: Too many open files: give this process more")


def test_a_port_in_use(tmp_path: Path) -> None:
    data = tmp_path / "d"
    with taken_port() as port:
        line = refusal("--port", str(port), "--data", str(data))
    assert f"port {port} is in use" in line
    assert "--port" in line
    assert not data.exists(), "what never served leaves nothing behind"


def test_a_port_in_use_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    data = tmp_path / "d"
    data.mkdir()
    with taken_port() as port:
        refusal("--port", str(port), "--data", str(data))
    assert list(data.iterdir()) == []
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, write)
        assert served.end(signal.SIGTERM)[0] == 0
    names = sorted(path.name for path in data.iterdir())
    with taken_port() as port:
        refusal("--port", str(port), "--data", str(data))
    assert sorted(path.name for path in data.iterdir()) == names
    assert CLEAN in names
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, read)


def test_a_folder_that_another_broker_holds(tmp_path: Path) -> None:
    data = tmp_path / "d"
    with serving("--data", str(data), folder=tmp_path) as served:
        line = refusal("--port", "0", "--data", str(data))
        talk(served.port, write)
    assert f"{data} is in use" in line
    assert "--data" in line


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_folder_that_cannot_be_one(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    data = f"{tmp_path / 'file'}{below}"
    line = refusal("--port", "0", "--data", data)
    assert f"cannot use {data}" in line
    assert "--data" in line


def test_a_disk_that_takes_no_more_is_told_with_its_folder(tmp_path: Path) -> None:
    """A limit stands for a full disk: both refuse a write, which does not name its file."""
    data = tmp_path / "d"
    ended = subprocess.run(
        [*COMMAND, "serve", "--port", "0", "--data", str(data)],
        env=environment(),
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"kafkalite: cannot use {data} (File too large); choose another folder with --data\n"
    )


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "cannot use there (No space left on device); make room there, or choose"),
        (errno.EDQUOT, "cannot use there (Disk quota exceeded)"),
        (errno.EMFILE, "Too many open files: "),
        (errno.EADDRNOTAVAIL, "choose another address"),
    ],
)
def test_what_the_system_refuses_is_told_as_what_it_is(number: int, told: str) -> None:
    config = BrokerConfig.of({"log.dirs": "there"})
    with pytest.raises(CommandError, match=re.escape(told)), explained("there", config):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("fault", [CorruptRecordError, InvariantError, ProtocolError])
def test_a_metadata_log_that_cannot_be_read_is_told_as_such(fault: type[Exception]) -> None:
    with (
        pytest.raises(CommandError, match=r"the metadata log in there is damaged \(why\)"),
        explained("there", BrokerConfig()),
    ):
        raise fault("why")


def properties(node: object = 1, directory: str = "aaaaaaaaaaaaaaaaaaaaaa") -> str:
    return f"node.id={node}\ndirectory.id={directory}\nversion=1\ncluster.id=abc\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (properties(node=7), "belongs to node 7, not to 1"),
        (properties(node="x"), "meta.properties is damaged"),
        (properties(directory="short"), "meta.properties is damaged"),
        ("", "meta.properties is damaged"),
        ("\x00\xff\n=", "meta.properties is damaged"),
        ("version=0\nbroker.id=1\n", "has version 0; only 1 is known"),
    ],
)
def test_a_folder_of_somebody_else_or_a_damaged_one(
    tmp_path: Path, content: str, problem: str
) -> None:
    (tmp_path / "meta.properties").write_text(content, encoding="latin-1")
    line = refusal("--port", "0", "--data", str(tmp_path))
    assert problem in line
    assert str(tmp_path) in line
    assert "--data" in line
    assert (tmp_path / "meta.properties").read_text(encoding="latin-1") == content


def test_a_damaged_metadata_log(tmp_path: Path) -> None:
    data = tmp_path / "d"
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, make_topic)
        assert served.end(signal.SIGTERM)[0] == 0
    (log,) = (data / "__cluster_metadata-0").glob("*0.log")
    whole = bytearray(log.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    log.write_bytes(whole)
    line = refusal("--port", "0", "--data", str(data))
    assert "damaged" in line
    assert "--data" in line


def test_all_well_is_worth_the_ready_line_alone(tmp_path: Path) -> None:
    for talk_to in (write, read):
        with serving("--data", "d", folder=tmp_path) as served:
            talk(served.port, talk_to)
            assert served.end(signal.SIGTERM) == (0, "")


def test_a_metadata_log_that_has_lost_its_topics(tmp_path: Path) -> None:
    data = tmp_path / "d"
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, write)
        served.end(signal.SIGKILL)
    (log,) = (data / "__cluster_metadata-0").glob("*0.log")
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    line = refusal("--port", "0", "--data", str(data))
    assert f"the metadata log in {data} has lost the topics of t-0" in line
    assert "move those folders away" in line
    log.write_bytes(whole)
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, read)


def test_partitions_without_records_whose_topic_is_lost_are_set_aside(tmp_path: Path) -> None:
    """As a loss of power leaves them: nobody has to move anything."""
    data = tmp_path / "d"
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, make_topic)
        served.end(signal.SIGKILL)
    lost = data / "lost-0"
    lost.mkdir()
    (lost / f"{0:020}.log").touch()
    (lost / "partition.metadata").write_bytes(format_partition_metadata(Uuid(b"1" * 16)))
    with serving("--data", str(data), folder=tmp_path) as served:
        talk(served.port, write)
        status, told = served.end(signal.SIGTERM)
    assert status == 0
    assert "lost-0 is not to be here: set aside as lost-0." in told
    assert not lost.exists()
    assert len(list(data.glob("lost-0.*-stray"))) == 1


def test_an_address_that_cannot_be_had_is_told_with_a_remedy() -> None:
    refused = ran("serve", "--ephemeral", "--set", "listeners=PLAINTEXT://192.0.2.1:0")
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert "cannot listen on 192.0.2.1:0" in line
    assert "--set listeners" in line


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with serving("--data", "~/there", folder=tmp_path) as served:
        assert served.where == str(tmp_path / "home" / "there")
        assert served.end(signal.SIGTERM)[0] == 0
    assert (tmp_path / "home" / "there" / CLEAN).exists()

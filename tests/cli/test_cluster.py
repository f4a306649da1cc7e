"""`kafkalite cluster`: several brokers as one process, and what `status` tells of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalite.cli import cluster_status
from kafkalite.cli.app import run
from kafkalite.cli.cluster import _line
from kafkalite.cli.cluster_status import status
from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.output import Output
from kafkalite.testing import Cluster
from tests.cli.serving import COMMAND, environment, ran

_END_WITHIN_S = 60


class RunningCommand:
    """A cluster that is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate(timeout=_END_WITHIN_S)[1]
        self.ready = json.loads(line)

    def stop(self) -> tuple[int, str]:
        """Exit code and log."""
        self._process.send_signal(signal.SIGTERM)
        more, log = self._process.communicate(timeout=_END_WITHIN_S)
        assert more == ""
        return self._process.returncode, log


@contextmanager
def running(*options: str, folder: Path) -> Iterator[RunningCommand]:
    process = subprocess.Popen(
        [*COMMAND, "cluster", "--json", *options],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield RunningCommand(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_it_serves_until_it_is_told_to_stop_and_goes_on(tmp_path: Path) -> None:
    with running("--port", "0", "--topic", "t:2", "--data", "here", folder=tmp_path) as cluster:
        ready = cluster.ready
        assert set(ready) == {"bootstrap", "data", "started_in_ms", "brokers"}
        assert ready["data"] == "here"
        assert list(ready["brokers"]) == ["1", "2", "3"]
        assert ready["bootstrap"] == ",".join(ready["brokers"].values())
        assert cluster.stop() == (0, "")
    assert (tmp_path / "here" / "broker-2" / "t-0").is_dir()
    with running("--port", "0", "--brokers", "3", "--data", "here", folder=tmp_path) as cluster:
        assert len(cluster.ready["brokers"]) == 3
        assert cluster.stop() == (0, "")


def test_nothing_is_on_the_disk_when_it_is_to_be_in_memory(tmp_path: Path) -> None:
    with running("--port", "0", "--brokers", "2", "--ephemeral", folder=tmp_path) as cluster:
        assert cluster.ready["data"] is None
        assert cluster.stop() == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_line_for_people() -> None:
    line = _line({1: "127.0.0.1:9092", 2: "127.0.0.1:9093"}, "memory")
    assert line.startswith(
        "kafkalite cluster of 2 ready on 127.0.0.1:9092,127.0.0.1:9093, data in memory, started in "
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--brokers", "0"], "--brokers"),
        (["--ephemeral", "--data", "x"], "--ephemeral and --data cannot go together"),
        (["--data", ""], "the empty name is no folder"),
        (["--port", "65534"], "--port 65534: 65535 is the last, and 3 brokers need more"),
        (["--set", "num.partition=1"], "--set: num.partition: no such broker setting; is it num."),
        (["--set", "listeners=PLAINTEXT://:1"], "each broker has its own; use --port"),
        (["status", "--watch", "0"], "--watch: 0.0 is not from 0.1 to 3600"),
        (["status", "--watch", "x"], "--watch x: expected a number"),
        (["--processes"], "--processes and --zookeeper HOST:PORT/CHROOT go together"),
        (["--zookeeper", "localhost"], "--processes and --zookeeper HOST:PORT/CHROOT go together"),
        (["status", "--watch", "1", "--json"], "--watch and --json cannot go together"),
    ],
)
def test_mistakes_are_told_in_one_line(options: list[str], message: str) -> None:
    with pytest.raises(WrongUseError) as told:
        run(["cluster", *options])
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with Cluster(1) as other:
        port = other.bootstrap.rpartition(":")[2]
        told = ran("cluster", "--brokers", "1", "--ephemeral", "--port", port)
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address" in told.stderr
    assert "in use; --port 0 takes free ones" in told.stderr


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    told = ran("cluster", "--port", "0", "--data", str(file))
    assert told.returncode == 1
    assert told.stderr == (
        f"kafkalite: cannot use {file} (Not a directory); choose another folder with --data\n"
    )


def test_folders_of_one_broker_and_of_several_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "meta.properties").touch()
    with pytest.raises(CommandError, match="one is the log folder of one broker"):
        run(["cluster", "--data", str(tmp_path / "one")])
    (tmp_path / "several" / "metadata").mkdir(parents=True)
    (tmp_path / "several" / "metadata" / "meta.properties").touch()
    with pytest.raises(CommandError, match="several is the folder of a cluster"):
        run(["serve", "--port", "0", "--data", str(tmp_path / "several")])
    assert [each.name for each in (tmp_path / "one").iterdir()] == ["meta.properties"]
    assert [each.name for each in (tmp_path / "several").iterdir()] == ["metadata"]


def test_status_shows_who_leads_and_who_is_out_of_sync(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Cluster(topics={"t": 3}) as cluster:
        connection = Connection(bootstrap=cluster.bootstrap)

        def shown() -> str:
            status(connection=connection)
            return capsys.readouterr().out

        well = shown()
        assert "3 partitions, all replicas in sync" in well
        assert (well.count("controller"), well.count("live")) == (1, 2)
        cluster.kill(3)
        status(connection=connection, output=Output(json=True))
        document = json.loads(capsys.readouterr().out)
        assert document["controller"] == cluster.controller
        fenced = {each["broker"]: each["fenced"] for each in document["brokers"]}
        assert fenced == {1: False, 2: False, 3: True}
        for row in document["partitions"]:
            assert row["leader"] == cluster.leader_of("t", row["partition"])
            assert tuple(row["in_sync_replicas"]) == cluster.isr_of("t", row["partition"])
            assert sorted(row["replicas"]) == [1, 2, 3]
        table = shown()
        assert table.count("\nt ") == 3
        assert table.count("gone") == 1


def test_a_status_that_is_watched_is_shown_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(1) as cluster:
        waits: list[float] = []

        class Impatient:
            def wait(self, seconds: float) -> None:
                waits.append(seconds)
                cluster.create_topic(f"t{len(waits)}", 2)
                if len(waits) == 3:
                    raise KeyboardInterrupt

        monkeypatch.setattr(cluster_status, "Event", Impatient)
        with pytest.raises(KeyboardInterrupt):
            status(watch=2.5, connection=Connection(bootstrap=cluster.bootstrap))
    assert waits == [2.5, 2.5, 2.5]
    shown = capsys.readouterr().out
    numbers = re.findall(r"(\d) partitions, all replicas in sync", shown)
    assert numbers == ["0", "2", "4"]

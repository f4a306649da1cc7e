from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_zookeeper_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # And does not listen.
        hosts = f"127.0.0.1:{nobody.getsockname()[1]}/chroot"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "kafkalite", "serve", "--port", "0", "--node-id", "7"),
                *("--data", str(tmp_path / "data"), "--zookeeper", hosts),
                *("--set", "zookeeper.connection.timeout.ms=100"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == f"kafkalite: ZooKeeper does not answer at {hosts}; is it running there?"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "zookeeper.session.timeout.ms",
            "it is a number of milliseconds, at least 1",
        ),
        ("leader.imbalance.per.broker.percentage", "Not a number of type INT"),
    ],
)
def test_a_setting_that_cannot_be_followed_is_told(
    tmp_path: Path, setting: str, words: str
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kafkalite", "serve", "--port", "0", "--node-id", "7"),
            *("--data", str(tmp_path / "data"), "--zookeeper", "127.0.0.1:1"),
            *("--set", f"{setting}=soon"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == f"kafkalite: Invalid value soon for configuration {setting}: {words}"

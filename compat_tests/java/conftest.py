"""The programs in `clients`, compiled; and `--record`: put what the real Kafka makes its tools say
into the transcripts.

Give the folder with it, and the real Kafka's address:
`BOOTSTRAP=HOST:PORT pytest compat_tests/java/test_kafka_tools.py --record`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from compat_tests.java.jars import class_path

SOURCES = Path(__file__).parent / "clients"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="record the transcripts of compat_tests/java anew"
    )


@pytest.fixture
def record(request: pytest.FixtureRequest) -> bool:
    """Whether transcripts are to be recorded rather than compared."""
    wanted = bool(request.config.getoption("--record", default=False))
    assert not wanted or "BOOTSTRAP" in os.environ, "--record needs BOOTSTRAP=, the real Kafka's"
    return wanted


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled with the oldest client: what that has, all have."""
    folder = tmp_path_factory.mktemp("classes")
    done = subprocess.run(
        ["javac", "-cp", class_path("clients-2.8"), "-d", folder, *SOURCES.glob("*.java")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder

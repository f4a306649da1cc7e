"""The programs in `clients`; and `--record`: put what the real Kafka makes its tools say
into the transcripts.

Give the folder with it, and the real Kafka's address:
`BOOTSTRAP=HOST:PORT pytest compat_tests/java/test_kafka_tools.py --record`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat_tests.java.jars import programs


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
def classes() -> Path:
    """The programs in `clients`, which run with every age of Kafka's client."""
    return programs("clients-2.8")

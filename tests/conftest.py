"""What all tests share: asynchronous ones run on asyncio, the loop that the broker is written for;
in CI the generated cases are the same in every run, so that a red one can be run again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says little of it where much else is done: `timeout` ends what hangs.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("here", _PATIENT)
settings.register_profile("ci", _PATIENT, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")

HERE = Path(__file__).parent
MAY_TAKE_LONG = {"cli", "ports", "properties", "simulation", "testing", "test_packaging.py"}
"""Folders and files whose tests wait for processes or for the machine's network, or are many runs
in one: how long they take says how busy the machine is."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A longer timeout where it is not in the test's hands how long it takes."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in MAY_TAKE_LONG:
            item.add_marker(pytest.mark.timeout(100))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"

"""What all tests share: asynchronous ones run on asyncio, the loop that the broker is written for;
in CI the generated cases are the same in every run, so that a red one can be run again."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI") == "true":
    settings.load_profile("ci")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"

"""What all tests share: asynchronous ones run on asyncio, which the broker is written for."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"

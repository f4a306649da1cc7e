"""What a run tells after its end fails its module: nobody would read it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest


class _Told(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture(autouse=True, scope="module")
def nothing_is_told_after_a_run() -> Iterator[None]:
    """Failures that nobody asked for are found when they are collected: at the latest here."""
    told = _Told()
    logger = logging.getLogger("kafkalite.testing.simulation")
    logger.addHandler(told)
    yield
    gc.collect()
    logger.removeHandler(told)
    assert not told.lines

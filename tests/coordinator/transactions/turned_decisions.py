"""A coordinator that is wrong on purpose: tests of what outlives one are to notice it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.coordinator.transactions import coordinator
from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.core import Send
from kafkalite.types import TimestampMs


def turn_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on what was prepared when a coordinator loads is aborted."""
    load, markers = coordinator.TransactionCoordinator._load, coordinator._markers

    def aborting(id: str, prepared: Transaction) -> Send:
        return markers(id, replace(prepared, state=TransactionState.PREPARE_ABORT))

    def turned(core: coordinator.TransactionCoordinator, now: TimestampMs) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(coordinator, "_markers", aborting)
            return load(core, now)

    monkeypatch.setattr(coordinator.TransactionCoordinator, "_load", turned)

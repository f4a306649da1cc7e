"""The commands, on the broker under test."""

from __future__ import annotations

import pytest

from compat_tests.cli.command_line import CommandLine


@pytest.fixture
def kafkalite(
    bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", bootstrap)
    return CommandLine(capsys, monkeypatch)

"""The short form of `killed_cluster.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.killed_cluster import play

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

ROUNDS = 3


def test_nothing_acknowledged_is_lost_when_leaders_controllers_and_zookeeper_die(
    tmp_path: Path,
) -> None:
    assert play(tmp_path, rounds=ROUNDS, seed=1) > ROUNDS

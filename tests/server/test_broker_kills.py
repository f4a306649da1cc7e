"""A process that serves is killed at random moments; what it acknowledged is there afterwards.

python -m tests.server.test_broker_kills 100 1    # so many kills, by that seed
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tests.server.killed_broker import kill_again_and_again

KILLS = 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_what_was_acknowledged_survives_each_kill(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path, rounds=KILLS, seed=1) > KILLS


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        count = kill_again_and_again(Path(folder), rounds=int(sys.argv[1]), seed=int(sys.argv[2]))
    sys.stdout.write(f"{count} records were acknowledged, and all are there\n")

"""What a process knows and arranges of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkalite.ports.process import age_ms, host_name

resource = pytest.importorskip("resource", reason="Windows has no such limit")

RAISED = """
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from kafkalite.ports.process import raise_descriptor_limit
setrlimit(RLIMIT_NOFILE, ({soft}, {hard}))
raise_descriptor_limit()
print(*getrlimit(RLIMIT_NOFILE))
"""


def raised(soft: int, hard: int) -> list[int]:
    """The limits of a process that began with these."""
    code = RAISED.format(soft=soft, hard=hard)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [int(number) for number in ran.stdout.split()]


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    assert raised(64, 200) == [200, 200]
    assert raised(200, 200) == [200, 200]


def test_its_age_and_its_machine() -> None:
    assert age_ms() > 0
    assert host_name()

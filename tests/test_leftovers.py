"""A test that fails makes no other one fail."""

from __future__ import annotations

import os
import sys

import pytest

pytest_plugins = ["pytester"]


def test_sockets_that_a_failed_test_left_open_fail_no_later_one(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    pytester.makeconftest("pytest_plugins = ['tests.leftovers']")
    pytester.makepyfile(
        """
        import gc, socket

        def test_fails():
            left = socket.socket()
            assert left is None

        def test_passes():
            gc.collect()
        """
    )
    without = ("anyio", "cacheprovider", "hypothesispytest", "randomly", "timeout")
    result = pytester.runpytest_subprocess(*(f"-pno:{name}" for name in without), "-Werror")
    result.assert_outcomes(failed=1, passed=1)

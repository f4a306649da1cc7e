"""A test whose time is up has ended: in test suites of their own, where the alarm rings at once."""

from __future__ import annotations

import os

import pytest

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGALRM on Windows")

WITHIN_S = 60


def ran(pytester: pytest.Pytester, test: str) -> pytest.RunResult:
    pytester.makeconftest("pytest_plugins = ['tests.time_out']")
    pytester.makepyfile(test)
    without = ("randomly", "cacheprovider")
    return pytester.runpytest_inprocess(
        *(f"-pno:{name}" for name in without), f"--timeout={WITHIN_S}"
    )


def test_hypothesis_looks_for_no_smaller_example(pytester: pytest.Pytester) -> None:
    """Which it would, for five minutes."""
    result = ran(
        pytester,
        """
        import signal
        from hypothesis import given, settings, strategies

        begun = []

        @given(strategies.integers())
        @settings(database=None)
        def test_is_slow(number):
            begun.append(number)
            signal.raise_signal(signal.SIGALRM)

        def test_nothing_was_tried_after_it():
            assert len(begun) == 1
        """,
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([f"*TimeIsUp: Timeout (>{WITHIN_S}.0s) from pytest-timeout."])


def test_where_it_is_swallowed_it_comes_again(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
        import asyncio, signal

        def ring():
            signal.raise_signal(signal.SIGALRM)

        async def a_callback_that_is_slow():
            asyncio.get_running_loop().call_soon(ring)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        def test_is_slow():
            asyncio.run(a_callback_that_is_slow())
            _, every_s = signal.getitimer(signal.ITIMER_REAL)
            assert every_s == 60
        """,
    )
    result.assert_outcomes(passed=1)

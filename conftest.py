"""What all tests are run with, of `tests` and of `compat_tests`."""

from __future__ import annotations

pytest_plugins = ("tests.time_out", "tests.leftovers")

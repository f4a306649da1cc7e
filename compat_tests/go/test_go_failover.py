"""franz-go on three brokers whose leader dies."""

from __future__ import annotations

import pytest

from compat_tests.failover_ride import ride
from compat_tests.programs import program


@pytest.mark.go
@pytest.mark.needs_process
@pytest.mark.timeout(600)  # It may be the first that is built.
def test_franz_go_rides_through_a_failover() -> None:
    ride([*program("go"), "franz-go"])

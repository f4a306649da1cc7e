"""What tests of the fixtures share."""

from __future__ import annotations

import pytest

from kafkalite.server.apis.table import APIS


@pytest.fixture(autouse=True, scope="session")
def all_apis_are_loaded() -> None:
    """A pytest within this process forgets the modules that it has loaded, but not the table, which
    stays: it would give the next one handlers whose classes nobody else knows any more."""
    while APIS.load_one_more():
        pass

"""confluent-kafka's admin client through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.admin_cases import AdminCases
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.admin import ConfluentAdmin


class TestConfluentAdmin(AdminCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)

    @pytest.fixture
    def admin(self, bootstrap: str) -> ConfluentAdmin:
        return ConfluentAdmin(bootstrap)

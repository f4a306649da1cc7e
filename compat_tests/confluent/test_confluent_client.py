"""confluent-kafka through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.client_cases import ClientCases
from compat_tests.confluent.adapter import ConfluentClient


class TestConfluent(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)

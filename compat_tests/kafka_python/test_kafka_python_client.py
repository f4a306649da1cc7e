"""kafka-python through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.client_cases import ClientCases
from compat_tests.kafka_python.adapter import KafkaPythonClient


class TestKafkaPython(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> KafkaPythonClient:
        return KafkaPythonClient(bootstrap)

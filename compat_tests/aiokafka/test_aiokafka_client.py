"""aiokafka through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.aiokafka.adapter import AiokafkaClient
from compat_tests.client_cases import ClientCases


class TestAiokafka(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> AiokafkaClient:
        return AiokafkaClient(bootstrap)

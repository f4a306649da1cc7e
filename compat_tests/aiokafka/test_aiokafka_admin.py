"""aiokafka's admin client through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.admin_cases import AdminCases
from compat_tests.aiokafka.adapter import AiokafkaClient
from compat_tests.aiokafka.admin import AiokafkaAdmin


class TestAiokafkaAdmin(AdminCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> AiokafkaClient:
        return AiokafkaClient(bootstrap)

    @pytest.fixture
    def admin(self, bootstrap: str) -> AiokafkaAdmin:
        return AiokafkaAdmin(bootstrap)

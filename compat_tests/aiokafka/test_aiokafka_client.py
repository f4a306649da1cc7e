"""aiokafka through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.aiokafka.adapter import AiokafkaClient
from compat_tests.aiokafka.member import AiokafkaMember
from compat_tests.client_cases import Client, ClientCases
from compat_tests.group_cases import GroupCases
from compat_tests.group_matrix import MatrixCases


class TestAiokafka(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> AiokafkaClient:
        return AiokafkaClient(bootstrap)


class TestAiokafkaGroups(GroupCases, MatrixCases):
    member = AiokafkaMember
    deletes_groups = False

    @pytest.fixture
    def client(self, bootstrap: str) -> AiokafkaClient:
        return AiokafkaClient(bootstrap)

    def client_at(self, bootstrap: str) -> Client:
        return AiokafkaClient(bootstrap)

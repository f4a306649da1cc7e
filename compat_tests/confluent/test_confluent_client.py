"""confluent-kafka through all cases that clients share."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from compat_tests.client_cases import Client, ClientCases
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.member import ConfluentConsumerMember, ConfluentMember
from compat_tests.group_cases import GroupCases
from compat_tests.group_matrix import MatrixCases


class TestConfluent(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)


class TestConfluentGroups(GroupCases, MatrixCases):
    member = ConfluentMember

    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)

    def client_at(self, bootstrap: str) -> Client:
        return ConfluentClient(bootstrap)


class TestConfluentConsumerGroups(TestConfluentGroups):
    """The same with the new protocol (KIP-848)."""

    member = ConfluentConsumerMember

    def silence_s(self, bootstrap: str) -> float:
        """As the broker says."""
        key = "group.consumer.session.timeout.ms"
        resource = ConfigResource(ConfigResource.Type.BROKER, "1")
        admin = AdminClient({"bootstrap.servers": bootstrap})
        return int(admin.describe_configs([resource])[resource].result(30)[key].value) / 1_000

"""kafka-python through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.client_cases import Client, ClientCases
from compat_tests.group_cases import GroupCases
from compat_tests.group_matrix import MatrixCases
from compat_tests.kafka_python.adapter import KafkaPythonClient
from compat_tests.kafka_python.member import KafkaPythonMember


class TestKafkaPython(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> KafkaPythonClient:
        return KafkaPythonClient(bootstrap)


class TestKafkaPythonGroups(GroupCases, MatrixCases):
    member = KafkaPythonMember
    rides_out_restarts = False
    """It does, but forgets the sockets of refused connections, which counts as an error here."""

    @pytest.fixture
    def client(self, bootstrap: str) -> KafkaPythonClient:
        return KafkaPythonClient(bootstrap)

    def client_at(self, bootstrap: str) -> Client:
        return KafkaPythonClient(bootstrap)

"""confluent-kafka through all cases that clients share."""

from __future__ import annotations

import pytest

from compat_tests.client_cases import Client, ClientCases
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.member import ConfluentMember
from compat_tests.group_cases import GroupCases


class TestConfluent(ClientCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)


class TestConfluentGroups(GroupCases):
    member = ConfluentMember

    @pytest.fixture
    def client(self, bootstrap: str) -> ConfluentClient:
        return ConfluentClient(bootstrap)

    def client_at(self, bootstrap: str) -> Client:
        return ConfluentClient(bootstrap)

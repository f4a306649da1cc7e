from __future__ import annotations

import re

import pytest

from kafkalite.protocol.api_keys import FACTS, ApiKey, request_class, response_class
from kafkalite.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalite.protocol.schema import schema_of


def test_there_is_a_member_for_each_api() -> None:
    assert {key.value for key in ApiKey} == set(FACTS)
    for key, facts in FACTS.items():
        assert facts.key is ApiKey(key)
        words = re.findall(r"[A-Z][a-z]+", facts.name)
        assert facts.key.name == "_".join(words).upper()
        assert facts.module == facts.key.name.lower()


@pytest.mark.parametrize("key", list(ApiKey))
def test_facts_are_those_of_the_declarations(key: ApiKey) -> None:
    facts = FACTS[key]
    request, response = request_class(key), response_class(key)
    schema = schema_of(request)
    assert schema.name == facts.name + "Request"
    assert schema.api_key == schema_of(response).api_key == key
    assert schema.versions == (facts.first_version, facts.last_version)
    flexible = facts.first_flexible_version
    assert flexible is None or flexible in schema.flexible
    assert (facts.last_version if flexible is None else flexible - 1) not in schema.flexible
    assert schema.listeners == facts.listeners
    assert schema.unstable == facts.last_is_unstable


def test_classes_by_key() -> None:
    assert request_class(2) is ListOffsetsRequest
    assert response_class(ApiKey.LIST_OFFSETS) is ListOffsetsResponse


@pytest.mark.parametrize("key", [-1, 500])
def test_a_key_that_is_none(key: int) -> None:
    with pytest.raises(KeyError):
        request_class(key)
    with pytest.raises(KeyError):
        response_class(key)

"""ApiVersions against the API table and the real Kafka's answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalite.controller.features import FINALIZED
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.server.apis.table import APIS
from tests.server.running import Running, served

GOLDEN = Path(__file__).parent.parent / "data" / "api-versions.json"


def request(name: str = "apache-kafka-java", version: str = "4.4.0") -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version=version)


@pytest.mark.parametrize("version", range(6))
@served()
async def test_it_lists_exactly_what_is_served(running: Running, version: int) -> None:
    response = await (await running.client()).ask(request(), version, ApiVersionsResponse)
    assert response.error_code == ErrorCode.NONE
    listed = [(api.api_key, api.min_version, api.max_version) for api in response.api_keys]
    assert listed == [
        (
            module.API.key,
            0 if module.API.key == 0 else module.API.min_version,
            module.API.max_version,
        )
        for module in APIS
    ]


@served()
async def test_what_it_lists_is_what_kafka_lists_for_the_same_keys(running: Running) -> None:
    golden = {
        api["key"]: (api["min"], api["max"])
        for api in json.loads(GOLDEN.read_text(encoding="utf-8"))["broker"]["v4"]["apis"]
    }
    response = await (await running.client()).ask(request(), 4, ApiVersionsResponse)
    for api in response.api_keys:
        assert (api.min_version, api.max_version) == golden[api.api_key], api


@served()
async def test_features_are_told_from_version_3_on(running: Running) -> None:
    client = await running.client()
    old = await client.ask(request(), 2, ApiVersionsResponse)
    assert (old.supported_features, old.finalized_features) == ([], [])
    response = await client.ask(request(), 3, ApiVersionsResponse)
    finalized = {feature.name: feature.max_version_level for feature in response.finalized_features}
    assert finalized == dict(FINALIZED)
    assert response.finalized_features_epoch == running.broker.image.end_offset - 1


@served()
async def test_features_that_may_be_at_level_0_are_told_from_version_4_on(
    running: Running,
) -> None:
    client = await running.client()
    told = []
    for version in (3, 4):
        response = await client.ask(request(), version, ApiVersionsResponse)
        told.append({feature.name for feature in response.supported_features})
    assert told[1] - told[0] == {"transaction.version"}
    assert told[1] == FINALIZED.keys()


@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1"), ("a", ""), ("a b", "1"), ("-a", "1"), ("a", "1."), ("a\n", "1"), ("ä", "1")],
)
@served()
async def test_a_client_that_does_not_say_who_it_is_is_refused_from_version_3_on(
    running: Running, name: str, software_version: str
) -> None:
    client = await running.client()
    refused = await client.ask(request(name, software_version), 3, ApiVersionsResponse)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert refused.api_keys == []
    served = await client.ask(request(name, software_version), 2, ApiVersionsResponse)
    assert served.error_code == ErrorCode.NONE

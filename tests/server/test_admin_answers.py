"""Admin requests that the real Kafka was asked, put to a broker in memory, field for field."""

from __future__ import annotations

import pytest

from kafkalite.config.described_keys import broker_keys
from kafkalite.config.group_keys import GROUP_KEYS
from kafkalite.server.apis.table import APIS
from tests.server.admin_answers import Fields, comparable, response_class, rows
from tests.server.running import Running, served

KAFKAS_DEFAULTS = {
    "consumer.assignment.interval.ms": "1000",
    "consumer.heartbeat.interval.ms": "5000",
    "consumer.session.timeout.ms": "45000",
    "consumer.min.heartbeat.interval.ms": "5000",
    "consumer.min.session.timeout.ms": "45000",
}
"""Where ours are others, for groups to form at once."""


@pytest.fixture(autouse=True)
def kafkas_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, default in KAFKAS_DEFAULTS.items():
        for keys, key_name in ((broker_keys(), f"group.{name}"), (GROUP_KEYS, name)):
            if key_name in keys:
                key = keys[key_name]._replace(default=default)
                monkeypatch.setitem(keys, key_name, key)


@served()
async def test_answers_are_kafkas(running: Running) -> None:
    client = await running.client()
    differ: dict[str, tuple[Fields, Fields]] = {}
    for row in rows():
        cls = response_class(row.api)
        answer = client.expect(cls.__schema__.api_key, row.version, cls)
        client.send_bytes(row.request)
        ours = comparable(await answer)
        if ours != row.answer:
            differ[row.case] = (ours, row.answer)
    assert differ == {}


def test_every_version_is_asked() -> None:
    asked = {(row.api, row.version) for row in rows()}
    names = {api for api, _ in asked} - {"CreateTopics", "Produce"}
    for module in APIS:
        api = module.API
        name = api.request.__name__.removesuffix("Request")
        if name in names:
            versions = range(api.min_version, api.max_version + 1)
            assert [v for v in versions if (name, v) not in asked] == []

"""Admin requests that the real Kafka was asked, put to a broker in memory, field for field."""

from __future__ import annotations

from kafkalite.server.apis.table import APIS
from tests.server.admin_answers import Fields, comparable, response_class, rows
from tests.server.running import Running, served


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

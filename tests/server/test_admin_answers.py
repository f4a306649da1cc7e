"""Admin requests that the real Kafka was asked, put to a broker in memory, field for field."""

from __future__ import annotations

from kafkalite.config.dynamic import ConfigSource
from kafkalite.server.apis.table import APIS
from tests.server.admin_answers import Fields, comparable, response_class, rows
from tests.server.running import Running, served

KAFKAS_DEFAULT = {
    "consumer.assignment.interval.ms": "1000",
    "consumer.heartbeat.interval.ms": "5000",
    "consumer.session.timeout.ms": "45000",
}
"""Where ours is another: groups form at once."""


def with_kafkas_defaults(answer: Fields) -> Fields:
    for result in answer.get("results") or ():
        for config in result.get("configs") or ():
            default = KAFKAS_DEFAULT.get(config["name"])
            if default is not None and config["config_source"] == ConfigSource.DEFAULT:
                config["value"] = default
                for synonym in config["synonyms"]:
                    synonym["value"] = default
    return answer


@served()
async def test_answers_are_kafkas(running: Running) -> None:
    client = await running.client()
    differ: dict[str, tuple[Fields, Fields]] = {}
    for row in rows():
        cls = response_class(row.api)
        answer = client.expect(cls.__schema__.api_key, row.version, cls)
        client.send_bytes(row.request)
        ours = with_kafkas_defaults(comparable(await answer))
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

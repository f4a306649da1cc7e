"""What becomes of topics that a broker makes by itself, where the controller's answer is not what
it wished for."""

from __future__ import annotations

import logging

import pytest

from kafkalite.controller.events import CreatedTopic, RefusedTopic, TopicsCreated
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import TopicImage
from kafkalite.server import topic_creation
from kafkalite.server.topic_creation import need_internal_topic
from kafkalite.types import Uuid
from tests.server.running import Running, served

OFFSETS = "__consumer_offsets"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (RefusedTopic(OFFSETS, ErrorCode.TOPIC_ALREADY_EXISTS, "it is there"), "it is there"),
        (RefusedTopic(OFFSETS, ErrorCode.POLICY_VIOLATION, ""), "POLICY_VIOLATION"),
        (CreatedTopic(OFFSETS, Uuid(bytes(16)), 50, 3, ()), None),
    ],
    ids=["refused", "refused without a word", "made but gone again"],
)
@served()
async def test_an_internal_topic_that_is_not_here_after_its_making(
    running: Running,
    answer: CreatedTopic | RefusedTopic,
    told: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, topic_creation.__name__)
    monkeypatch.setattr(
        topic_creation,
        "create_topics",
        lambda services, topics, on_created: on_created(TopicsCreated((answer,))),
    )
    heard: list[TopicImage | KafkaError] = []
    need_internal_topic(running.broker._services, OFFSETS, heard.append)
    (error,) = heard
    assert isinstance(error, KafkaError)
    assert error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    lines = [] if told is None else [f"{OFFSETS} cannot be made: {told}"]
    records = [each for each in caplog.records if each.name == topic_creation.__name__]
    assert [each.getMessage() for each in records] == lines

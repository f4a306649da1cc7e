"""CreateTopics: new topics, by number of partitions or by hand-made assignments.

Versions: 2 to 7.
- 4 -1 stands for the broker's defaults. 5 flexible; answers with what was created and its settings.
- 6 may be throttled (KIP-599). 7 topic ids.

Answered when every live broker serves the topics. What takes longer than `timeout_ms` has timed out
for the client, and may still come to be; with a timeout of 0 or less nothing is done.

Kafka differs: it answers when its controller has committed, and brokers may learn of the topics a
moment later, so that a client which is quick to use one gets an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafkalite.config.dynamic import effective_topic_configs
from kafkalite.controller.events import (
    CreatedTopic,
    NewTopic,
    PartitionAssignment,
    RefusedTopic,
    TopicsCreated,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext, Services
from kafkalite.server.topic_creation import create_topics
from kafkalite.types import BrokerId

API = Api(
    ApiKey.CREATE_TOPICS,
    CreateTopicsRequest,
    CreateTopicsResponse,
    min_version=2,
    max_version=7,
    by_controller=True,
)

_ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")
_COST, _COST_OF_CONFIGS = 5, 150
"""Of a topic's part in the answer, as `Turns` counts, and of settings that no other has."""


def handle(ctx: RequestContext, request: CreateTopicsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    services = ctx.services
    results: list[CreatableTopicResult] = []
    parked, on_created = parked_answer(
        services,
        request.timeout_ms,
        answer=lambda _: CreateTopicsResponse(topics=results),
        refuse=partial(refuse, request),
        prepare=partial(_describe_each, services, results),
    )
    create_topics(
        services,
        [_wanted(topic) for topic in request.topics],
        on_created,
        validate_only=request.validate_only,
    )
    return parked


def refuse(request: CreateTopicsRequest, code: ErrorCode, message: str) -> CreateTopicsResponse:
    """The same code for every topic."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(
                name=topic.name, error_code=code, error_message=message or None, configs=[]
            )
            for topic in request.topics
        ]
    )


def _wanted(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple(
            PartitionAssignment(
                assignment.partition_index, tuple(BrokerId(id) for id in assignment.broker_ids)
            )
            for assignment in topic.assignments
        ),
        configs=tuple((config.name, config.value) for config in topic.configs),
    )


def _describe_each(
    services: Services, results: list[CreatableTopicResult], created: TopicsCreated
) -> Iterator[int]:
    """One topic after the other: what it cost, for `Turns`. Topics that set the same share what is
    told of their settings."""
    known: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}
    for topic in created.topics:
        if isinstance(topic, RefusedTopic):
            refused = CreatableTopicResult(
                name=topic.name, error_code=topic.code, error_message=topic.message, configs=[]
            )
            results.append(refused)
        else:
            if topic.configs not in known:
                known[topic.configs] = _effective(services, topic)
                yield _COST_OF_CONFIGS
            results.append(_result(topic, known[topic.configs]))
        yield _COST


def _result(topic: CreatedTopic, configs: list[CreatableTopicConfigs]) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=configs,
    )


def _effective(services: Services, topic: CreatedTopic) -> list[CreatableTopicConfigs]:
    effective = effective_topic_configs(
        dict(topic.configs),
        services.image.configs.get(_ALL_BROKERS, {}),
        services.config.settings,
    )
    return [
        CreatableTopicConfigs(name=config.name, value=config.value, config_source=config.source)
        for config in effective
    ]

"""Topics as requests ask for them: by name, or by id where the request has one.

Source: Kafka's `KafkaApis.handleTopicMetadataRequest` and `KRaftMetadataCache`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage, TopicImage
from kafkalite.metadata.topic_names import is_legal
from kafkalite.types import ZERO_UUID, Uuid


class TopicKey(NamedTuple):
    """What a request says of a topic."""

    name: str | None
    """None or empty where only the id is told."""
    topic_id: Uuid = ZERO_UUID
    """Stronger than the name; zero where none is told."""


def find_topic(image: MetadataImage, wanted: TopicKey) -> TopicImage | None:
    """The topic, if there is one."""
    if wanted.topic_id != ZERO_UUID:
        return image.topics_by_id.get(wanted.topic_id)
    return image.topics.get(wanted.name or "")


def check_asked(wanted: Iterable[TopicKey], *, by_id: bool) -> None:
    """`by_id`: whether the request may ask so. `KafkaError` for what it cannot ask."""
    for each in wanted:
        has_id = each.topic_id != ZERO_UUID
        if not by_id and (has_id or each.name is None):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if each.name is None and not has_id:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def absent(wanted: TopicKey) -> ErrorCode:
    """Why a topic is not there."""
    if wanted.topic_id != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if is_legal(wanted.name or ""):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.INVALID_TOPIC_EXCEPTION


def creatable(image: MetadataImage, wanted: Iterable[TopicKey]) -> list[str]:
    """Names of those that are not there and could be made: asked for by a name that is legal."""
    return [
        each.name
        for each in wanted
        if each.name is not None
        and find_topic(image, each) is None
        and absent(each) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]

"""Topics by name and by id, and why one is not there."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_lookup import (
    TopicKey,
    absent,
    check_asked,
    creatable,
    find_topic,
)
from kafkalite.types import Uuid
from tests.metadata.sample_changes import image_of, partition, topic

IMAGE = image_of(topic("t", 1), partition(1, 0, [1]))
(ID,) = IMAGE.topics_by_id
OTHER_ID = Uuid(b"\xff" * 16)


@pytest.mark.parametrize(
    "wanted", [TopicKey("t"), TopicKey("t", ID), TopicKey(None, ID), TopicKey("another", ID)]
)
def test_the_id_is_stronger_than_the_name(wanted: TopicKey) -> None:
    assert find_topic(IMAGE, wanted) is IMAGE.topics["t"]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (TopicKey("u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicKey("u u"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TopicKey(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TopicKey(None), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TopicKey("t", OTHER_ID), ErrorCode.UNKNOWN_TOPIC_ID),
        (TopicKey(None, OTHER_ID), ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_why_a_topic_is_not_there(wanted: TopicKey, code: ErrorCode) -> None:
    assert find_topic(IMAGE, wanted) is None
    assert absent(wanted) is code


def test_those_that_could_be_made() -> None:
    wanted = [
        TopicKey("t"),
        TopicKey("u"),
        TopicKey("not legal"),
        TopicKey(None),
        TopicKey("v", OTHER_ID),
        TopicKey("w"),
    ]
    assert creatable(IMAGE, wanted) == ["u", "w"]


@pytest.mark.parametrize(
    ("wanted", "early", "late"),
    [
        (TopicKey("t"), None, None),
        (TopicKey("t", ID), ErrorCode.INVALID_REQUEST, None),
        (TopicKey(None, ID), ErrorCode.INVALID_REQUEST, None),
        (TopicKey(None), ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_a_request_cannot_ask_refuses_all_of_it(
    wanted: TopicKey, early: ErrorCode | None, late: ErrorCode | None
) -> None:
    for by_id, code in ((False, early), (True, late)):
        if code is None:
            check_asked([TopicKey("u"), wanted], by_id=by_id)
        else:
            with pytest.raises(KafkaError) as refused:
                check_asked([TopicKey("u"), wanted], by_id=by_id)
            assert refused.value.code is code

from __future__ import annotations

from kafkalite.controller.state import ControllerState
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import RemoveTopicRecord, TopicRecord
from tests.controller.sample_cluster import uuid


def test_the_image_follows_and_is_kept_while_nothing_changes() -> None:
    state = ControllerState(MetadataImage())
    state.apply(TopicRecord(name="a", topic_id=uuid(1)))
    state.apply(TopicRecord(name="b", topic_id=uuid(2)))
    image = state.image
    assert list(image.topics) == ["a", "b"]
    assert state.image is image


def test_collisions_come_and_go_with_topics() -> None:
    state = ControllerState(MetadataImage())
    assert state.colliding_topic("a.b") is None
    state.apply(TopicRecord(name="a_b", topic_id=uuid(1)))
    state.apply(TopicRecord(name="a.b", topic_id=uuid(2)))
    assert state.colliding_topic("a.b") == "a.b"
    state.apply(RemoveTopicRecord(topic_id=uuid(2)))
    assert state.colliding_topic("a.b") == "a_b"
    state.apply(RemoveTopicRecord(topic_id=uuid(1)))
    assert state.colliding_topic("a.b") is None
    assert (state._names, state._colliding) == ({}, {}), "names that come and go do not heap up"


def test_a_state_can_begin_with_an_image() -> None:
    first = ControllerState(MetadataImage())
    first.apply(TopicRecord(name="a_b", topic_id=uuid(1)))
    again = ControllerState(first.image)
    assert again.image is first.image
    assert again.colliding_topic("a.b") == "a_b"
    again.apply(RemoveTopicRecord(topic_id=uuid(1)))
    assert again.colliding_topic("a.b") is None


def test_names_of_deleted_topics_are_kept_where_the_store_says_when_they_are_free() -> None:
    for keeps, left in ((True, ["earlier", "a"]), (False, ["earlier"])):
        state = ControllerState(MetadataImage(), ["earlier"], keeps_names=keeps)
        state.apply(TopicRecord(name="a", topic_id=uuid(1)))
        state.apply(RemoveTopicRecord(topic_id=uuid(1)))
        assert list(state.going) == left


def test_a_topic_that_is_going_collides_until_its_name_is_free() -> None:
    state = ControllerState(MetadataImage(), keeps_names=True)
    state.apply(TopicRecord(name="a_b", topic_id=uuid(1)))
    state.apply(RemoveTopicRecord(topic_id=uuid(1)))
    assert state.colliding_topic("a.b") == "a_b"
    state.going.clear()
    assert state.colliding_topic("a.b") is None

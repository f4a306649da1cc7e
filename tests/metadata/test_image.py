from __future__ import annotations

import pytest

from kafkalite.metadata.image import ConfigResourceType, MetadataImage
from kafkalite.metadata.scram import ScramCredential, ScramMechanism
from tests.metadata.sample_changes import (
    credential,
    image_of,
    partition,
    registration,
    registration_change,
    setting,
    topic,
)


def test_partitions_are_found_by_topic_and_index() -> None:
    image = image_of(topic("t", 1), partition(1, 0, [1]), partition(1, 1, [2]))
    second = image.partition("t", 1)
    assert second is not None
    assert second.leader == 2
    assert image.partition("t", 2) is None
    assert image.partition("t", -1) is None
    assert image.partition("u", 0) is None


def test_a_credential_is_found_by_mechanism_and_user() -> None:
    image = image_of(credential("alice", 2))
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_512, "alice") == ScramCredential(
        salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=4096
    )
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_256, "alice") is None
    assert image.scram_credential(ScramMechanism.SCRAM_SHA_512, "Alice") is None
    both = image_of(credential("alice", 2), credential("alice", 1), credential("bob"))
    assert list(both.credentials_of("alice")) == [1, 2]
    assert both.credentials_of("carol") == {}


def test_settings_of_a_topic_are_those_that_were_set() -> None:
    image = image_of(
        topic("t", 1),
        setting(ConfigResourceType.TOPIC, "t", "retention.ms", "5"),
        setting(ConfigResourceType.GROUP, "t", "share.heartbeat.interval.ms", "6"),
    )
    assert image.topic_config("t") == {"retention.ms": "5"}
    assert image.topic_config("u") == {}


def test_clients_hear_of_brokers_that_serve() -> None:
    image = image_of(
        registration(4),
        registration(2, fenced=True),
        registration(3),
        registration_change(3, in_controlled_shutdown=1),
        registration(1),
    )
    assert [broker.id for broker in image.active_brokers()] == [1, 4]


def test_an_image_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        MetadataImage().cluster_id = "other"  # type: ignore[misc]  # that it refuses is the point.

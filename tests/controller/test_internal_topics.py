"""How internal topics are made, and what is clamped where brokers are few."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.events import NewTopic
from kafkalite.controller.internal_topics import clamped, factor_setting, wanted_internal_topic
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from tests.controller.sample_cluster import assignment
from tests.metadata.sample_changes import image_of, registration

MIN_IN_SYNC = "min.insync.replicas"
KEYS = {
    CONSUMER_OFFSETS: "offsets.topic",
    TRANSACTION_STATE: "transaction.state.log",
    SHARE_GROUP_STATE: "share.coordinator.state.topic",
}


def brokers(live: int, away: int = 0) -> MetadataImage:
    return image_of(
        *(registration(id) for id in range(1, live + 1)),
        *(registration(id, fenced=True) for id in range(live + 1, live + away + 1)),
    )


def made(topic: NewTopic, image: MetadataImage, **settings: str) -> tuple[int, str | None]:
    """Its factor and its own `min.insync.replicas`."""
    config = BrokerConfig.of({key.replace("_", "."): value for key, value in settings.items()})
    result = clamped(topic, config, image)
    return result.replication_factor, dict(result.configs).get(MIN_IN_SYNC)


@pytest.mark.parametrize("name", KEYS)
def test_settings_say_how_they_are_made(name: str) -> None:
    settings = {f"{KEYS[name]}.{key}": "3145728" for key in ("num.partitions", "segment.bytes")}
    config = BrokerConfig.of({**settings, factor_setting(name): "7"})
    topic = wanted_internal_topic(config, name)
    assert (topic.name, topic.num_partitions, topic.replication_factor) == (name, 3145728, 7)
    assert dict(topic.configs)["segment.bytes"] == "3145728"


@pytest.mark.parametrize(
    ("live", "away", "factor", "in_sync"),
    [(1, 0, 1, "1"), (2, 0, 2, "2"), (1, 2, 3, "1"), (3, 1, 3, "2"), (0, 0, 1, "1")],
)
def test_no_more_replicas_than_brokers_and_none_in_sync_that_is_away(
    live: int, away: int, factor: int, in_sync: str
) -> None:
    wanted = NewTopic("t", replication_factor=3, configs=((MIN_IN_SYNC, "2"),))
    assert made(wanted, brokers(live, away)) == (factor, in_sync)


def test_a_broker_that_is_away_gets_its_replicas_when_it_is_back() -> None:
    assert made(NewTopic("t", replication_factor=2), brokers(1, 2)) == (2, None)


def test_what_is_left_open_is_clamped_by_the_brokers_defaults() -> None:
    by_default = {"default_replication_factor": "3", "min_insync_replicas": "2"}
    assert made(NewTopic("t"), brokers(1), **by_default) == (1, "1")
    assert made(NewTopic("t"), brokers(3), **by_default) == (-1, None)
    assert made(NewTopic("t"), brokers(1)) == (-1, None)


def test_no_factor_leaves_room_for_more_in_sync_than_it_has() -> None:
    wanted = NewTopic("t", replication_factor=2, configs=((MIN_IN_SYNC, "3"),))
    assert made(wanted, brokers(5)) == (2, "2")


def test_what_makes_no_sense_is_left_to_be_refused() -> None:
    wanted = NewTopic("t", replication_factor=0, configs=((MIN_IN_SYNC, "many"),))
    assert made(wanted, brokers(1)) == (0, "many")


def test_what_is_placed_by_hand_stays() -> None:
    by_hand = NewTopic("t", assignments=(assignment(0, 7, 8),), configs=((MIN_IN_SYNC, "2"),))
    assert clamped(by_hand, BrokerConfig(), brokers(1)) is by_hand

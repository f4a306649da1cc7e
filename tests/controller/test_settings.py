from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.eligible_replicas import ELIGIBLE_REPLICAS
from kafkalite.controller.partition_change import Election, Rules
from kafkalite.controller.settings import ControllerSettings, TopicDefaults
from kafkalite.errors import KafkaError
from kafkalite.metadata.image import ConfigResource, MetadataImage
from tests.controller.sample_partitions import topic

UNCLEAN = "unclean.leader.election.enable"


def test_they_come_from_the_brokers_file() -> None:
    config = BrokerConfig.of(
        {
            "node.id": "3",
            "num.partitions": "4",
            "default.replication.factor": "2",
            "min.insync.replicas": "2",
            UNCLEAN: "true",
            "leader.imbalance.check.interval.seconds": "7",
            "unclean.leader.election.interval.ms": "9",
        }
    )
    settings = ControllerSettings.of(config)
    assert settings.node_id == 3
    assert settings.topics == TopicDefaults(4, 2, 2)
    assert settings.unclean_leader_election_enable
    assert settings.leader_balance_interval_ms == 7_000
    assert settings.unclean_election_interval_ms == 9
    assert settings.first_balance_ms == 7_000


def test_over_zookeeper_leaders_are_balanced_by_the_settings_of_3_9() -> None:
    key = "leader.imbalance.per.broker.percentage"
    config = BrokerConfig.of({key: "25", "leader.imbalance.check.interval.seconds": "7"})
    settings = ControllerSettings.of(config, over_zookeeper=True)
    assert settings.over_zookeeper
    assert settings.tolerated_percentage == 25
    assert (settings.first_balance_ms, settings.leader_balance_interval_ms) == (5_000, 7_000)
    assert ControllerSettings.of(config).tolerated_percentage == 10
    assert ControllerSettings.of(BrokerConfig(), over_zookeeper=True).tolerated_percentage == 10
    wrong = BrokerConfig.of({key: "few"})
    with pytest.raises(KafkaError, match=r"few for configuration leader\.imbalance.*of type INT"):
        ControllerSettings.of(wrong, over_zookeeper=True)
    assert not ControllerSettings.of(wrong).over_zookeeper, "Kafka 4 has it no more"


def test_leaders_may_stay_where_they_are() -> None:
    config = BrokerConfig.of({"auto.leader.rebalance.enable": "false"})
    assert ControllerSettings.of(config).leader_balance_interval_ms is None


def test_defaults() -> None:
    assert ControllerSettings.of(BrokerConfig())._replace(node_id=ControllerSettings().node_id) == (
        ControllerSettings()
    )


@pytest.mark.parametrize(
    ("of_topic", "of_broker", "of_all", "of_file", "expected"),
    [
        (None, None, None, False, Election.ONLINE),
        (None, None, None, True, Election.UNCLEAN),
        (None, None, "TRUE", False, Election.UNCLEAN),
        (None, "false", "true", True, Election.ONLINE),
        ("true", "false", "false", False, Election.UNCLEAN),
    ],
)
def test_the_nearest_says_whether_an_unclean_leader_may_be(
    of_topic: str | None,
    of_broker: str | None,
    of_all: str | None,
    of_file: bool,
    expected: Election,
) -> None:
    said = {(2, "t"): of_topic, (4, "1"): of_broker, (4, ""): of_all, (4, "2"): "true"}
    image = MetadataImage(
        configs={
            ConfigResource(type, name): {UNCLEAN: value}
            for (type, name), value in said.items()
            if value is not None
        }
    )
    settings = ControllerSettings.of(BrokerConfig())._replace(
        unclean_leader_election_enable=of_file
    )
    assert settings.election(image, "t") is expected


@pytest.mark.parametrize(
    ("of_topic", "of_all", "of_file", "expected"),
    [(None, None, 2, 2), (None, "1", 2, 1), ("2", "1", 1, 2), ("9", None, 1, 3)],
)
def test_the_nearest_min_in_sync_decides_who_is_eligible_as_far_as_there_are_replicas(
    of_topic: str | None, of_all: str | None, of_file: int, expected: int
) -> None:
    kept = topic((1, 2, 3), (1, 2, 3), 1)
    said = {(2, kept.name): of_topic, (4, ""): of_all}
    image = MetadataImage(
        configs={
            ConfigResource(type, name): {"min.insync.replicas": value}
            for (type, name), value in said.items()
            if value is not None
        }
    )
    settings = ControllerSettings(topics=TopicDefaults(min_in_sync_replicas=of_file))
    assert settings.rules(image, kept) == Rules()
    assert settings.rules(image._replace(features={ELIGIBLE_REPLICAS: 1}), kept) == Rules(
        min_in_sync=expected
    )

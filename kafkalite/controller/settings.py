"""What the controller decides by: settings of the broker that it runs on.

What the metadata has for a topic, for that broker or for all brokers goes before them.

Source: Kafka's `ConfigurationControlManager.getTopicConfig`, `ReplicationConfigs`; 3.9's
`KafkaController.onControllerFailover`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.config.views import BrokerConfig
from kafkalite.controller.eligible_replicas import MIN_IN_SYNC, keeps_eligible_replicas
from kafkalite.controller.partition_change import Election, Rules
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage, TopicImage
from kafkalite.types import BrokerId

_IMBALANCE: Final = ConfigKey(
    "leader.imbalance.per.broker.percentage",
    ConfigType.INT,
    "10",
    "Of what a broker is preferred for, how much others may lead.",
)
"""Kafka 4 has it no more."""
_UNCLEAN = "unclean.leader.election.enable"
_FIRST_BALANCE_MS: Final = 5_000


class TopicDefaults(NamedTuple):
    """What -1 stands for in a request, the controller's `num.partitions` and
    `default.replication.factor`; and what a new cluster is given for all topics, the
    `min.insync.replicas` of the file."""

    num_partitions: int = 1
    replication_factor: int = 1
    min_in_sync_replicas: int = 1


class ControllerSettings(NamedTuple):
    """With Kafka's defaults."""

    node_id: BrokerId = BrokerId(-1)
    """The broker that the controller runs on."""
    topics: TopicDefaults = TopicDefaults()
    unclean_leader_election_enable: bool = False
    """Of topics that do not say."""
    leader_balance_interval_ms: int | None = 300_000
    """None: leaders stay where they are."""
    first_balance_ms: int = 300_000
    """After the election of the controller."""
    tolerated_percentage: int = 10
    """Over ZooKeeper: of what a broker is preferred for, so much others may lead."""
    unclean_election_interval_ms: int = 300_000
    over_zookeeper: bool = False
    """As in Kafka 3.9, whose brokers may be in the cluster. Nobody is ever eligible who is not in
    sync, and the last broker to stop cleanly goes on leading what it led, for when it is back. A
    partition whose in-sync replicas lose one with its broker goes on in a new leader epoch. Leaders
    are balanced where more than is tolerated of a broker's is led by others. No level of a feature
    can be changed and no broker unregistered, for nothing would keep that. The name of a deleted
    topic is taken until the store says that it is gone: brokers that are away have replicas of it
    by that name."""

    @classmethod
    def of(cls, config: BrokerConfig, *, over_zookeeper: bool = False) -> ControllerSettings:
        """Those of a broker's file. `KafkaError(INVALID_CONFIG)` for one that acts over ZooKeeper
        alone, and so was not looked at before."""
        balances = config.auto_leader_rebalance_enable
        interval_ms = config.leader_imbalance_check_interval_seconds * 1000
        tolerated = cls().tolerated_percentage
        if over_zookeeper and _IMBALANCE.name in config.settings:
            parsed = _IMBALANCE.parse(config.settings[_IMBALANCE.name])
            assert isinstance(parsed, int), parsed
            tolerated = parsed
        return cls(
            config.node_id,
            TopicDefaults(
                config.num_partitions,
                config.default_replication_factor,
                config.topic_defaults.min_insync_replicas,
            ),
            config.topic_defaults.unclean_leader_election_enable,
            interval_ms if balances else None,
            _FIRST_BALANCE_MS if over_zookeeper else interval_ms,
            tolerated,
            config.unclean_leader_election_interval_ms,
            over_zookeeper,
        )

    def rules(self, image: MetadataImage, topic: TopicImage) -> Rules:
        """How leaders of the topic are elected, and who stays eligible."""
        return Rules(self.election(image, topic.name), self._min_in_sync(image, topic))

    def election(self, image: MetadataImage, topic: str) -> Election:
        """How a leader of the topic is elected when one is missing."""
        value = self._nearest(image, topic, _UNCLEAN)
        is_unclean = (
            self.unclean_leader_election_enable if value is None else value.lower() == "true"
        )
        return Election.UNCLEAN if is_unclean else Election.ONLINE

    def _min_in_sync(self, image: MetadataImage, topic: TopicImage) -> int | None:
        """No more than there are replicas; None where nobody is kept as eligible."""
        if not keeps_eligible_replicas(image):
            return None
        value = self._nearest(image, topic.name, MIN_IN_SYNC)
        wanted = self.topics.min_in_sync_replicas if value is None else int(value)
        return min(wanted, len(topic.partitions[0].replicas))

    def _nearest(self, image: MetadataImage, topic: str, key: str) -> str | None:
        for type, name in (
            (ConfigResourceType.TOPIC, topic),
            (ConfigResourceType.BROKER, str(self.node_id)),
            (ConfigResourceType.BROKER, ""),
        ):
            value = image.configs.get(ConfigResource(type, name), {}).get(key)
            if value is not None:
                return value
        return None

"""Which replicas are copied slowly, and how slowly: as topics name them
(`leader.replication.throttled.replicas` and `follower.replication.throttled.replicas`), at the
rates that the metadata has for this broker or for all (`leader.replication.throttled.rate` and
`follower.replication.throttled.rate`, which no file has). Replicas in sync are not slowed down.

Source: Kafka's `ReplicationQuotaManager`, `TopicConfigHandler` and `BrokerConfigHandler`.
"""

from __future__ import annotations

from typing import Final

from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.replica.throttle import ReplicationThrottle
from kafkalite.server.partition import Partition
from kafkalite.types import BrokerId

SENDING_RATE: Final = "leader.replication.throttled.rate"
FETCHING_RATE: Final = "follower.replication.throttled.rate"
_ALL: Final = "*"


class ReplicationThrottles:
    """Of one broker."""

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        self._sending = ReplicationThrottle()
        self._fetching = ReplicationThrottle()

    def configure(self, image: MetadataImage) -> None:
        """Follow the rates of the metadata."""
        settings: dict[str, str] = {}
        for name in ("", str(self._broker_id)):
            settings.update(image.configs.get(ConfigResource(ConfigResourceType.BROKER, name), {}))
        self._sending.limit = _rate(settings.get(SENDING_RATE))
        self._fetching.limit = _rate(settings.get(FETCHING_RATE))

    def of_sending(self, partition: Partition) -> ReplicationThrottle | None:
        """What slows down followers of a partition that is led here; None: nothing."""
        if self._sending.limit is None:
            return None
        named = partition.config.leader_replication_throttled_replicas
        return self._sending if self._names(named, partition) else None

    def of_fetching(self, partition: Partition) -> ReplicationThrottle | None:
        """What slows down this broker as a follower of the partition; None: nothing."""
        if self._fetching.limit is None:
            return None
        named = partition.config.follower_replication_throttled_replicas
        return self._fetching if self._names(named, partition) else None

    def _names(self, replicas: tuple[str, ...], partition: Partition) -> bool:
        return _ALL in replicas or f"{partition.index}:{self._broker_id}" in replicas


def _rate(value: str | None) -> int | None:
    """Bytes a second; what is no number of them slows down nothing."""
    return int(value) if value is not None and value.strip().isdecimal() else None

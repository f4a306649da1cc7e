"""confluent-kafka's admin client as an `Admin` of the shared cases."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions

from compat_tests.admin_cases import AdminError, Cluster

WAIT_S = 60.0
T = TypeVar("T")


class ConfluentAdmin:
    """See `Admin`."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.TOPIC, topic))

    def broker_configs(self, broker_id: int) -> dict[str, str | None]:
        return self._configs(ConfigResource(ResourceType.BROKER, str(broker_id)))

    def set_configs(self, topic: str, settings: Mapping[str, str]) -> None:
        """IncrementalAlterConfigs: others stay."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        _result(self._admin.incremental_alter_configs([resource])[resource])

    def add_partitions(self, topic: str, total: int) -> None:
        _result(self._admin.create_partitions([NewPartitions(topic, total)])[topic])

    def partition_count(self, topic: str) -> int:
        return len(self._admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions)

    def delete_records(self, topic: str, offset: int) -> int:
        (future,) = self._admin.delete_records([TopicPartition(topic, 0, offset)]).values()
        return int(_result(future).low_watermark)

    def cluster(self) -> Cluster:
        found = _result(self._admin.describe_cluster())
        return Cluster([node.id for node in found.nodes], found.controller.id, found.cluster_id)

    def _configs(self, resource: ConfigResource) -> dict[str, str | None]:
        found = _result(self._admin.describe_configs([resource])[resource])
        return {name: entry.value for name, entry in found.items()}


def _result(future: Future[T]) -> T:
    try:
        return future.result(WAIT_S)
    except KafkaException as error:
        raise AdminError(error.args[0].code()) from error

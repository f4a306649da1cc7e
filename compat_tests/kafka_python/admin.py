"""kafka-python's admin client as an `Admin` of the shared cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions
from kafka.errors import KafkaError

from compat_tests.admin_cases import AdminError, Cluster


class KafkaPythonAdmin:
    """See `Admin`."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResourceType.TOPIC, topic)

    def broker_configs(self, broker_id: int) -> dict[str, str | None]:
        return self._configs(ConfigResourceType.BROKER, str(broker_id))

    def set_configs(self, topic: str, settings: Mapping[str, str]) -> None:
        """IncrementalAlterConfigs: others stay."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(settings))
        with self.connected() as admin:
            said: str = admin.alter_configs([resource], raise_on_unknown=False)["topic"][topic]
        if said != "OK":
            raise AdminError(int(said.removeprefix("[Error ").partition("]")[0]))

    def add_partitions(self, topic: str, total: int) -> None:
        with self.connected() as admin:
            admin.create_partitions({topic: NewPartitions(total)})

    def partition_count(self, topic: str) -> int:
        with self.connected() as admin:
            return len(admin.describe_topics([topic])[0]["partitions"])

    def delete_records(self, topic: str, offset: int) -> int:
        partition = TopicPartition(topic, 0)
        with self.connected() as admin:
            return int(admin.delete_records({partition: offset})[partition]["low_watermark"])

    def cluster(self) -> Cluster:
        with self.connected() as admin:
            found = admin.describe_cluster()
        ids = [broker["broker_id"] for broker in found["brokers"]]
        return Cluster(ids, found["controller_id"], found["cluster_id"])

    def folders(self) -> list[dict[str, Any]]:  # Any: as the library gives it.
        """DescribeLogDirs, of the one broker."""
        with self.connected() as admin:
            (broker,) = admin.describe_log_dirs()
        found: list[dict[str, Any]] = broker["log_dirs"]
        return found

    def _configs(self, type: ConfigResourceType, name: str) -> dict[str, str | None]:
        with self.connected() as admin:
            found = admin.describe_configs([ConfigResource(type, name)], config_filter="all")
        return {key: entry["value"] for key, entry in found[type.name.lower()][name].items()}

    @contextmanager
    def connected(self) -> Iterator[KafkaAdminClient]:
        """The library's own client, whose errors are told as `AdminError`."""
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            try:
                yield admin
            except KafkaError as error:
                raise AdminError(error.errno) from error

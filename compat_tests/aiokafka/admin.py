"""aiokafka's admin client as an `Admin` of the shared cases: each call is one run of an event
loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from compat_tests.admin_cases import AdminError, Cluster

T = TypeVar("T")


class AiokafkaAdmin:
    """See `Admin`."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        return self._configs(ConfigResource(ConfigResourceType.TOPIC, topic))

    def broker_configs(self, broker_id: int) -> dict[str, str | None]:
        return self._configs(ConfigResource(ConfigResourceType.BROKER, str(broker_id)))

    def set_configs(self, topic: str, settings: Mapping[str, str]) -> None:
        """AlterConfigs, which takes all others back."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(settings))
        (answer,) = self._run(lambda admin: admin.alter_configs([resource]))
        code = answer.resources[0][0]
        if code:
            raise AdminError(code)

    def add_partitions(self, topic: str, total: int) -> None:
        self._run(lambda admin: admin.create_partitions({topic: NewPartitions(total)}))

    def partition_count(self, topic: str) -> int:
        (found,) = self._run(lambda admin: admin.describe_topics([topic]))
        return len(found["partitions"])

    def delete_records(self, topic: str, offset: int) -> int:
        partition = TopicPartition(topic, 0)
        wanted = {partition: RecordsToDelete(offset)}
        return int(self._run(lambda admin: admin.delete_records(wanted))[partition])

    def cluster(self) -> Cluster:
        found = self._run(lambda admin: admin.describe_cluster())
        ids = [broker["node_id"] for broker in found["brokers"]]
        return Cluster(ids, found["controller_id"], found["cluster_id"])

    def _configs(self, resource: ConfigResource) -> dict[str, str | None]:
        # Any: the library's answers have no types.
        answers: list[Any] = self._run(lambda admin: admin.describe_configs([resource]))
        entries = answers[0].resources[0][4]
        return {name: value for name, value, *_ in entries}

    def _run(self, call: Callable[[AIOKafkaAdminClient], Awaitable[T]]) -> T:
        async def run() -> T:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return await call(admin)
            except KafkaError as error:
                raise AdminError(error.errno) from error
            finally:
                await admin.close()

        return asyncio.run(run())

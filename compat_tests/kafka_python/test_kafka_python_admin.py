"""kafka-python's admin client through all cases that clients share, and the calls that it alone
has."""

from __future__ import annotations

import pytest

from compat_tests.admin_cases import AdminCases
from compat_tests.kafka_python.adapter import KafkaPythonClient
from compat_tests.kafka_python.admin import KafkaPythonAdmin
from compat_tests.sample import samples


class TestKafkaPythonAdmin(AdminCases):
    @pytest.fixture
    def client(self, bootstrap: str) -> KafkaPythonClient:
        return KafkaPythonClient(bootstrap)

    @pytest.fixture
    def admin(self, bootstrap: str) -> KafkaPythonAdmin:
        return KafkaPythonAdmin(bootstrap)

    def test_log_folders_tell_sizes(
        self, client: KafkaPythonClient, admin: KafkaPythonAdmin, topic: str
    ) -> None:
        client.create_topic(topic)
        client.produce(topic, samples(100))
        (folder,) = admin.folders()
        assert folder["error_code"] == 0
        assert 0 < folder["usable_bytes"] < folder["total_bytes"]
        (mine,) = (each for each in folder["topics"] if each["name"] == topic)
        (partition,) = mine["partitions"]
        assert partition["partition_size"] > 1_000
        assert partition["offset_lag"] == 0
        assert not partition["is_future_key"]

    def test_no_replicas_move(
        self, client: KafkaPythonClient, admin: KafkaPythonAdmin, topic: str
    ) -> None:
        client.create_topic(topic)
        with admin.connected() as connected:
            assert connected.list_partition_reassignments() == {}

    def test_partitions_page_by_page(
        self, client: KafkaPythonClient, admin: KafkaPythonAdmin, topic: str
    ) -> None:
        client.create_topic(topic)
        admin.add_partitions(topic, 3)
        while admin.partition_count(topic) < 3:
            pass
        with admin.connected() as connected:
            first = connected.describe_topic_partitions([topic], 2)
            second = connected.describe_topic_partitions([topic], 2, first["next_cursor"])
        indexes = [
            [each["partition_index"] for each in page["topics"][0]["partitions"]]
            for page in (first, second)
        ]
        assert indexes == [[0, 1], [2]]
        assert second["next_cursor"] is None

    def test_a_setting_is_taken_back(
        self, client: KafkaPythonClient, admin: KafkaPythonAdmin, topic: str
    ) -> None:
        from kafka.admin import ConfigResource, ConfigResourceType

        client.create_topic(topic)
        admin.set_configs(topic, {"retention.ms": "5000", "flush.ms": "7"})
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": None})
        with admin.connected() as connected:
            connected.reset_configs([resource])
        while admin.topic_configs(topic)["retention.ms"] != "604800000":
            pass
        assert admin.topic_configs(topic)["flush.ms"] == "7"

"""What the admin calls of every client must do, written once; each client's folder adapts its
library to `Admin`. Calls that only one library has are in that library's own test.

Topics have one partition to begin with. The real Kafka answers before its brokers have learnt of a
change, so cases look again until they see it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import pytest

from compat_tests.client_cases import Client
from compat_tests.sample import in_order, samples

PATIENCE_S = 60


class AdminError(Exception):
    """The broker refused one thing, with a code of the protocol."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Cluster(NamedTuple):
    """Who is there."""

    broker_ids: list[int]
    controller_id: int
    cluster_id: str | None


class Admin(Protocol):
    """One library's admin client, with a fresh connection for each call. `AdminError` from any."""

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        """All settings of the topic."""
        ...

    def broker_configs(self, broker_id: int) -> dict[str, str | None]:
        """All settings of the broker."""
        ...

    def set_configs(self, topic: str, settings: Mapping[str, str]) -> None:
        """Set these; whether others stay depends on the library."""
        ...

    def add_partitions(self, topic: str, total: int) -> None:
        """Give the topic so many partitions in all."""
        ...

    def partition_count(self, topic: str) -> int:
        """How many the topic has."""
        ...

    def delete_records(self, topic: str, offset: int) -> int:
        """Delete below `offset` in partition 0 (-1: all that is committed); the low watermark."""
        ...

    def cluster(self) -> Cluster:
        """The brokers."""
        ...


class AdminCases:
    """A client's test class inherits these, and has fixtures `client` and `admin`."""

    def test_the_cluster_has_its_brokers_and_a_controller(self, admin: Admin) -> None:
        cluster = admin.cluster()
        assert cluster.broker_ids == [1]
        assert cluster.controller_id == 1
        assert cluster.cluster_id

    def test_settings_of_a_topic_are_described_and_set(
        self, client: Client, admin: Admin, topic: str
    ) -> None:
        client.create_topic(topic)
        before = admin.topic_configs(topic)
        assert before["retention.ms"] == "604800000"
        assert len(before) == 37
        admin.set_configs(topic, {"retention.ms": "86400000", "cleanup.policy": "compact,delete"})
        _until(lambda: admin.topic_configs(topic)["retention.ms"], "86400000")
        assert admin.topic_configs(topic)["cleanup.policy"] == "compact,delete"

    def test_a_setting_acts_at_once(self, client: Client, admin: Admin, topic: str) -> None:
        client.create_topic(topic)
        admin.set_configs(topic, {"message.timestamp.type": "LogAppendTime"})
        _until(lambda: admin.topic_configs(topic)["message.timestamp.type"], "LogAppendTime")
        (sent,) = samples(1)
        client.produce(topic, [sent])
        (received,) = client.read(topic, 1)
        assert received.sample.timestamp_ms != sent.timestamp_ms

    def test_a_bad_value_and_an_unknown_key_are_refused(
        self, client: Client, admin: Admin, topic: str
    ) -> None:
        client.create_topic(topic)
        for settings in ({"retention.ms": "soon"}, {"no.such.key": "1"}):
            with pytest.raises(AdminError) as refused:
                admin.set_configs(topic, settings)
            assert refused.value.code == 40  # INVALID_CONFIG
        assert admin.topic_configs(topic)["retention.ms"] == "604800000"

    def test_settings_of_a_broker_are_described(self, admin: Admin) -> None:
        configs = admin.broker_configs(1)
        assert len(configs) >= 350
        assert configs["num.partitions"] == "1"
        assert configs["message.max.bytes"] == "1048588"
        assert configs["ssl.key.password"] is None

    def test_new_partitions_are_there(self, client: Client, admin: Admin, topic: str) -> None:
        client.create_topic(topic)
        client.produce(topic, samples(3))
        admin.add_partitions(topic, 3)
        _until(lambda: admin.partition_count(topic), 3)
        assert client.offsets(topic) == (0, 3)

    def test_fewer_partitions_are_refused(self, client: Client, admin: Admin, topic: str) -> None:
        client.create_topic(topic)
        with pytest.raises(AdminError) as refused:
            admin.add_partitions(topic, 1)
        assert refused.value.code == 37  # INVALID_PARTITIONS

    def test_deleted_records_are_gone(self, client: Client, admin: Admin, topic: str) -> None:
        client.create_topic(topic)
        sent = samples(20)
        client.produce(topic, sent)
        assert admin.delete_records(topic, 7) == 7
        assert client.offsets(topic) == (7, 20)
        received = client.read(topic, 13)
        assert [each.offset for each in received] == list(range(7, 20))
        assert [each.sample for each in received] == sent[7:]
        assert admin.delete_records(topic, -1) == 20
        assert client.offsets(topic) == (20, 20)

    def test_records_that_are_not_there_are_not_deleted(
        self, client: Client, admin: Admin, topic: str
    ) -> None:
        client.create_topic(topic)
        sent = samples(3)
        client.produce(topic, sent)
        with pytest.raises(AdminError) as refused:
            admin.delete_records(topic, 4)
        assert refused.value.code == 1  # OFFSET_OUT_OF_RANGE
        in_order(client.read(topic, 3), sent)


def _until(look: Callable[[], object], expected: object) -> None:
    deadline = time.monotonic() + PATIENCE_S  # noqa: TID251  # Of a real client's patience.
    while (found := look()) != expected:
        assert time.monotonic() < deadline, found  # noqa: TID251

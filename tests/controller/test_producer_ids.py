from __future__ import annotations

import pytest

from kafkalite.controller.events import AllocateProducerIds, ProducerIdBlock
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.metadata_records import ProducerIdsRecord
from kafkalite.types import BrokerEpoch, BrokerId, ProducerId
from tests.controller.sample_cluster import Cluster


def test_blocks_follow_each_other() -> None:
    cluster = Cluster(1, 2)
    first = cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(1)))
    assert first == ProducerIdBlock(ProducerId(0), 1000)
    assert cluster.records == (
        ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1000),
    )
    second = cluster.feed(AllocateProducerIds("t", BrokerId(2), BrokerEpoch(2)))
    assert second == ProducerIdBlock(ProducerId(1000), 1000)


def test_only_the_registered_incarnation_gets_one() -> None:
    cluster = Cluster(1)
    with pytest.raises(KafkaError) as refused:
        cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(0)))
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_the_last_ids_are_given_and_no_more() -> None:
    cluster = Cluster(1)
    cluster.controller.apply(ProducerIdsRecord(next_producer_id=2**63 - 1 - 1000))
    cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(1)))
    with pytest.raises(KafkaError, match="Exhausted all producerIds"):
        cluster.feed(AllocateProducerIds("t", BrokerId(1), BrokerEpoch(1)))

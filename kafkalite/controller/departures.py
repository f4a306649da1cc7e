"""Brokers that leave in good order: controlled shutdown, and an operator's unregistering.

Over ZooKeeper none can be unregistered, in Kafka 3.9 neither: what stands there of a broker is its
own, and goes with its session.

Source: Kafka's `ReplicationControlManager.handleBrokerInControlledShutdown` and `unregisterBroker`.
"""

from __future__ import annotations

from kafkalite.controller.brokers import check_broker_epoch
from kafkalite.controller.elections import after_loss
from kafkalite.controller.partition_change import candidates_of
from kafkalite.controller.replica_events import (
    BrokerShutDown,
    BrokerUnregistered,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    UnregisterBrokerRecord,
)

_IN_CONTROLLED_SHUTDOWN = 1


def shut_down_broker(
    image: MetadataImage, event: ShutDownBroker, settings: ControllerSettings
) -> tuple[list[Change], BrokerShutDown]:
    """Records that take the broker out of everything, before its session ends: so its followers
    need not notice. `KafkaError(STALE_BROKER_EPOCH)` for another incarnation."""
    check_broker_epoch(image, event.broker_id, event.broker_epoch)
    broker = image.brokers[event.broker_id]
    records: list[Change] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.id,
                broker_epoch=broker.epoch,
                in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN,
            )
        )
    records += after_loss(image, broker.id, candidates_of(image).without(broker.id), settings)
    return records, BrokerShutDown(remaining=())


def unregister_broker(
    image: MetadataImage, event: UnregisterBroker, settings: ControllerSettings
) -> tuple[list[Change], BrokerUnregistered]:
    """Records that forget the broker; partitions keep it as a replica.
    `KafkaError`: BROKER_ID_NOT_REGISTERED when it is not there, UNSUPPORTED_VERSION over ZooKeeper.
    """
    if settings.over_zookeeper:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "ZooKeeper keeps no broker that is gone.")
    broker = image.brokers.get(event.broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {event.broker_id} is not currently registered",
        )
    others = candidates_of(image).without(broker.id)
    gone = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    return [*after_loss(image, broker.id, others, settings), gone], BrokerUnregistered(broker.id)

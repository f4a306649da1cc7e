"""Blocks of producer ids. What a block once held is never given again, whatever crashes.

Source: Kafka's `ProducerIdControlManager` (KIP-730).
"""

from __future__ import annotations

from kafkalite.controller.brokers import check_broker_epoch
from kafkalite.controller.events import AllocateProducerIds, ProducerIdBlock
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    ProducerIdsRecord,
)

BLOCK_SIZE = 1000
_MAX_ID = (1 << 63) - 1


def allocate(
    image: MetadataImage, event: AllocateProducerIds
) -> tuple[list[Change], ProducerIdBlock]:
    """The next block for a registered broker. `KafkaError`: STALE_BROKER_EPOCH;
    UNKNOWN_SERVER_ERROR when all 2^63 ids have been given."""
    check_broker_epoch(image, event.broker_id, event.broker_epoch)
    first = image.next_producer_id
    if first > _MAX_ID - BLOCK_SIZE:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "Exhausted all producerIds as the next block's end producerId has exceeded"
            " the int64 type limit",
        )
    record = ProducerIdsRecord(
        broker_id=event.broker_id,
        broker_epoch=event.broker_epoch,
        next_producer_id=first + BLOCK_SIZE,
    )
    return [record], ProducerIdBlock(first, BLOCK_SIZE)

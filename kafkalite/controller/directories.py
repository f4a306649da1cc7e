"""Which log folder of its broker a replica is in, and what the failure of one means (KIP-858).

A broker with several folders chooses where a new replica goes, and tells afterwards. When a folder
fails, its replicas count as lost, though their broker lives.

Source: Kafka's `ReplicationControlManager.handleAssignReplicasToDirs` and
`handleDirectoriesOffline`.
"""

from __future__ import annotations

from kafkalite.controller.brokers import check_broker_epoch
from kafkalite.controller.elections import after_failed_folders, after_failed_replicas
from kafkalite.controller.events import (
    AssignDirectories,
    DirectoriesKnown,
    FailDirectories,
    FailReplicas,
)
from kafkalite.controller.partition_change import candidates_of
from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)


def assign_directories(
    image: MetadataImage, event: AssignDirectories
) -> tuple[list[Change], DirectoriesKnown]:
    """A record for each replica whose folder was not known, or another one. What is deleted by now
    is passed over. `KafkaError(STALE_BROKER_EPOCH)` for another incarnation of the broker."""
    check_broker_epoch(image, event.broker_id, event.broker_epoch)
    records: list[Change] = []
    for each in event.replicas:
        topic = image.topics_by_id.get(each.topic_id)
        if topic is None or each.partition >= len(topic.partitions):
            continue
        partition = topic.partitions[each.partition]
        if event.broker_id not in partition.replicas:
            continue
        directories = list(partition.directories)
        at = partition.replicas.index(event.broker_id)
        if directories and directories[at] != each.directory:
            directories[at] = each.directory
            records.append(
                PartitionChangeRecord(
                    partition_id=each.partition, topic_id=topic.id, directories=directories
                )
            )
    return records, DirectoriesKnown(len(records))


def fail_directories(
    image: MetadataImage, event: FailDirectories, settings: ControllerSettings
) -> tuple[list[Change], DirectoriesKnown]:
    """Records that move what was led from there, and then the folders that the broker has left;
    none when all is known. `KafkaError(STALE_BROKER_EPOCH)` for another incarnation of it."""
    check_broker_epoch(image, event.broker_id, event.broker_epoch)
    id = event.broker_id
    known = image.brokers[id]
    left = [directory for directory in known.log_dirs if directory not in event.failed]
    if len(left) == len(known.log_dirs):
        return [], DirectoriesKnown(0)
    records: list[Change] = [
        *after_failed_folders(image, id, event.failed, candidates_of(image), settings)
    ]
    registration = BrokerRegistrationChangeRecord(
        broker_id=id, broker_epoch=known.epoch, log_dirs=left
    )
    return [*records, registration], DirectoriesKnown(len(records))


def fail_replicas(
    image: MetadataImage, event: FailReplicas, settings: ControllerSettings
) -> list[Change]:
    """Records that have others lead, and take the replicas out of the in-sync ones; none for
    another incarnation of the broker.

    Kafka differs: its controller remembers them until the broker is back. Here the broker says it
    again whenever it is told that such a replica leads.
    """
    broker = image.brokers.get(event.broker_id)
    if broker is None or broker.epoch != event.broker_epoch:
        return []
    candidates = candidates_of(image)
    return list(after_failed_replicas(image, broker.id, event.replicas, candidates, settings))

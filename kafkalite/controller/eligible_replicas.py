"""Eligible leader replicas (KIP-966): who may lead when nobody is in sync.

While fewer are in sync than `min.insync.replicas` asks for, the high watermark rests: whoever
leaves then has all that was acknowledged. So it stays eligible, until enough are in sync again, or
until it comes back from an unclean stop, in which its disk may have lost records.

    in sync     leaves       eligible        with min.insync.replicas=2
    1 2 3       -            -
    1 2         3            -               two are enough to acknowledge more, which 3 lacks
    1           2            2
    -           1            1 2             either leads, whoever is back first
    -           1 uncleanly  2               1 may lack what it had

When nobody is eligible either, the one that led last is known still: it is elected when it is back,
as an unclean leader, since nobody can be better.

Kafka differs: a replica that a reassignment takes away stays eligible there. Nobody waits for it
with what is acknowledged from then on; it keeps the one that led last from being elected, and leads
without those records if it is added again.

Kafka differs: after another `min.insync.replicas` nobody is eligible any more there, and nobody is
known to have led; where nobody led just then, nobody ever does without an unclean election. While
nobody leads, nothing is acknowledged: here these stay as they are. Those of a cluster that is to
keep none any more stay eligible there, whatever is acknowledged without them, until a snapshot is
loaded that leaves them out; here they do not, and a folder of a Kafka's is put right.

Kafka differs: who is elected from among them there leaves the others eligible though it is enough
for `min.insync.replicas` alone. Here nobody is beside those who are enough.

Source: Kafka's `PartitionChangeBuilder` (maybePopulateTargetElr, maybeUpdateLastKnownLeader),
`ReplicationControlManager.handleBrokerShutdown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import (
    ConfigResource,
    ConfigResourceType,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.protocol.messages.metadata_records import (
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
)
from kafkalite.types import NO_LEADER, BrokerId

ELIGIBLE_REPLICAS: Final = "eligible.leader.replicas.version"
MIN_IN_SYNC: Final = "min.insync.replicas"
_BUCKETS = 16


def keeps_eligible_replicas(image: MetadataImage) -> bool:
    """Whether the cluster does."""
    return image.features.get(ELIGIBLE_REPLICAS, 0) > 0


def eligible_replicas(
    before: PartitionImage,
    isr: Sequence[BrokerId],
    min_in_sync: int,
    *,
    replicas: Sequence[BrokerId],
    unclean_stop: BrokerId | None = None,
) -> tuple[BrokerId, ...]:
    """Those beside the in-sync replicas `isr` to be, among the `replicas` to be. `unclean_stop`: a
    replica that may have lost records."""
    if len(isr) >= min_in_sync:
        return ()
    had_all = dict.fromkeys((*before.eligible_leader_replicas, *before.isr))
    found = (id for id in had_all if id in replicas and id not in isr and id != unclean_stop)
    # The order in which a small HashSet of Java has them, for people see it.
    return tuple(sorted(found, key=lambda id: id % _BUCKETS))


def last_leader_to_keep(
    before: PartitionImage, leader: BrokerId | None
) -> tuple[BrokerId, ...] | None:
    """What the partition is to know of its last leader; None: as before. `leader`: the one that is
    newly chosen, or `NO_LEADER`; None: it stays."""
    if leader == NO_LEADER and not before.last_known_elr:
        return (before.leader,)
    if leader not in (None, NO_LEADER) and before.last_known_elr:
        return ()
    return None


def min_in_sync_setting(broker: str, value: str | None) -> ConfigRecord:
    """Of one broker, or of all (empty); None takes it away."""
    return ConfigRecord(
        resource_type=ConfigResourceType.BROKER,
        resource_name=broker,
        name=MIN_IN_SYNC,
        value=value,
    )


def one_min_in_sync(image: MetadataImage, of_file: int) -> Iterator[Change]:
    """Records after which all brokers have one `min.insync.replicas`: the controller has to know
    which counts."""
    all_brokers = ConfigResource(ConfigResourceType.BROKER, "")
    if MIN_IN_SYNC not in image.configs.get(all_brokers, {}):
        yield min_in_sync_setting("", str(of_file))
    for resource, values in image.configs.items():
        if resource.type == ConfigResourceType.BROKER and resource.name and MIN_IN_SYNC in values:
            yield min_in_sync_setting(resource.name, None)


def clearing(image: MetadataImage, altered: Iterable[Change]) -> list[Change]:
    """Records that nobody is eligible any more where another `min.insync.replicas` was set: by the
    old one it was decided who is."""
    records: list[Change] = []
    if not keeps_eligible_replicas(image):
        return records
    for each in altered:
        if not (isinstance(each, ConfigRecord) and each.name == MIN_IN_SYNC):
            continue
        name = each.resource_name if each.resource_type == ConfigResourceType.TOPIC else ""
        records.append(ClearElrRecord(topic_name=name))
        for topic in image.topics.values():
            if name in ("", topic.name):
                records += _kept_without_leader(topic)
    return records


def _kept_without_leader(topic: TopicImage) -> Iterator[Change]:
    """Records that give what was cleared back to partitions that nobody leads."""
    for index, partition in enumerate(topic.partitions):
        eligible, last = partition.eligible_leader_replicas, partition.last_known_elr
        if partition.leader == NO_LEADER and (eligible or last):
            yield PartitionChangeRecord(
                partition_id=index,
                topic_id=topic.id,
                eligible_leader_replicas=list(eligible),
                last_known_elr=list(last),
            )


def begun(image: MetadataImage) -> Iterator[Change]:
    """Records with which a cluster begins to keep them: those that a partition without a leader
    waits for are eligible, and one is known to have led, should they come back from a crash."""
    if keeps_eligible_replicas(image):
        return
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.leader == NO_LEADER and partition.isr:
                yield PartitionChangeRecord(
                    partition_id=index,
                    topic_id=topic.id,
                    isr=[],
                    eligible_leader_replicas=list(partition.isr),
                    last_known_elr=list(partition.isr[:1]),
                )


def forgotten(image: MetadataImage) -> Iterable[Change]:
    """Records for a controller that begins: what a Kafka left behind that ended to keep them. Its
    snapshots would leave it out, and who is to be waited for with it."""
    return () if keeps_eligible_replicas(image) else ended(image)


def ended(image: MetadataImage) -> Iterator[Change]:
    """Records with which it ends: nobody is eligible where there is a leader, who need not wait for
    them any more. A partition without one waits for those that were, or for who led last, as for
    in-sync replicas."""
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            eligible, last = partition.eligible_leader_replicas, partition.last_known_elr
            if eligible or last:
                record = PartitionChangeRecord(partition_id=index, topic_id=topic.id)
                record.eligible_leader_replicas = record.last_known_elr = []
                if not partition.isr:
                    record.isr = list(eligible or last)
                yield record

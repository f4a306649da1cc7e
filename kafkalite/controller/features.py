"""Features: what this release supports, and the levels a new cluster starts with.

A finalized level is a promise to clients: transactions of version 2, groups of the new protocol. So
a new cluster finalizes only what works; a folder that a real Kafka wrote may have more, and keeps
it.

Kafka differs: a new cluster there finalizes seven features, three of them are here. The code behind
the others (share groups, streams, eligible leader replicas) is still to come.

Source: Kafka's `Feature`, `MetadataVersion` and `BootstrapMetadata` (KIP-584).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResourceType, MetadataImage, VersionRange
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

METADATA_VERSION: Final = 33
"""4.4-IV0's level: the record formats that `metadata/changes.py` writes."""

SUPPORTED: Final[Mapping[str, VersionRange]] = {
    "metadata.version": VersionRange(7, METADATA_VERSION),
    "eligible.leader.replicas.version": VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
    "streams.version": VersionRange(0, 1),
    "group.version": VersionRange(0, 1),
    "kraft.version": VersionRange(0, 1),
    "share.version": VersionRange(0, 2),
}
"""What a broker registers with: Kafka 4.4.0's ranges, so that a cluster of either kind takes it."""

FINALIZED: Final[Mapping[str, int]] = {
    "metadata.version": METADATA_VERSION,
    "group.version": 1,
    "transaction.version": 2,
}
"""What a new cluster starts with; a feature joins when the code behind it works."""


def formatted_with(min_in_sync_replicas: int = 1) -> list[Change]:
    """What a new cluster is formatted with: its features, and the one setting that Kafka writes
    with them (for eligible.leader.replicas; DescribeConfigs shows it as set for all brokers): the
    `min.insync.replicas` of its first broker's file."""
    levels = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in FINALIZED.items()
    ]
    min_in_sync = ConfigRecord(
        resource_type=ConfigResourceType.BROKER,
        resource_name="",
        name="min.insync.replicas",
        value=str(min_in_sync_replicas),
    )
    return [*levels, min_in_sync]


def bootstrap(image: MetadataImage, min_in_sync_replicas: int = 1) -> list[Change]:
    """The first records of a cluster; none when it has a metadata version, and so was made
    before."""
    if "metadata.version" in image.features:
        return []
    begin = BeginTransactionRecord(name="Bootstrap records")
    return [begin, *formatted_with(min_in_sync_replicas), EndTransactionRecord()]

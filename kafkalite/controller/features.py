"""Features: what this release supports, and the levels a new cluster starts with.

A finalized level is a promise to clients: transactions of version 2, groups of the new protocol. So
a new cluster finalizes only what works; a folder that a real Kafka wrote may have more, and keeps
it.

Kafka differs: a new cluster there finalizes seven features, four of them are here. The code behind
the others (share groups, streams) is still to come, and until then their levels cannot be changed.

Kafka differs: over ZooKeeper a 3.9 knows no feature, and refuses each of a request by itself
(INVALID_REQUEST). Here the brokers that live say which levels hold there, a request could change
none of them, and is refused as a whole: version 2 of the answer has no room for each.

Source: Kafka's `Feature`, `MetadataVersion`, `BootstrapMetadata` and `FeatureControlManager`
(KIP-584, KIP-778, KIP-1022).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from kafkalite.controller.eligible_replicas import (
    ELIGIBLE_REPLICAS,
    begun,
    ended,
    min_in_sync_setting,
    one_min_in_sync,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage, VersionRange
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

if TYPE_CHECKING:
    from kafkalite.controller.events import FeaturesUpdated, FeatureUpdate, UpdateFeatures

METADATA: Final = "metadata.version"
METADATA_VERSION: Final = 33
"""4.4-IV0's level: the record formats that `metadata/changes.py` writes."""

SUPPORTED: Final[Mapping[str, VersionRange]] = {
    METADATA: VersionRange(7, METADATA_VERSION),
    ELIGIBLE_REPLICAS: VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
    "streams.version": VersionRange(0, 1),
    "group.version": VersionRange(0, 1),
    "kraft.version": VersionRange(0, 1),
    "share.version": VersionRange(0, 2),
}
"""What a broker registers with: Kafka 4.4.0's ranges, so that a cluster of either kind takes it."""

FINALIZED: Final[Mapping[str, int]] = {
    METADATA: METADATA_VERSION,
    ELIGIBLE_REPLICAS: 1,
    "group.version": 1,
    "transaction.version": 2,
}
"""What a new cluster starts with; a feature joins when the code behind it works."""


_SUPPORTS = "Local controller {id} only supports versions {levels.min}-{levels.max}"
_UNKNOWN = "Local controller {id} does not support this feature."
_LOWERS_UNASKED = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or"
    " unsafe downgrade."
)


class UpgradeType(IntEnum):
    """The protocol's numbers."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def formatted_with(min_in_sync_replicas: int = 1) -> list[Change]:
    """What a new cluster is formatted with: its features, and the one setting that eligible leader
    replicas need (DescribeConfigs shows it as set for all brokers): the `min.insync.replicas` of
    its first broker's file."""
    levels = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in FINALIZED.items()
    ]
    return [*levels, min_in_sync_setting("", str(min_in_sync_replicas))]


def bootstrap(image: MetadataImage, min_in_sync_replicas: int = 1) -> list[Change]:
    """The first records of a cluster; none when it has a metadata version, and so was made
    before."""
    if METADATA in image.features:
        return []
    begin = BeginTransactionRecord(name="Bootstrap records")
    return [begin, *formatted_with(min_in_sync_replicas), EndTransactionRecord()]


def update_features(
    image: MetadataImage, event: UpdateFeatures, settings: ControllerSettings
) -> tuple[list[Change], FeaturesUpdated]:
    """All levels or none. `KafkaError`: INVALID_UPDATE_VERSION, for the first that is wrong.

    Kafka differs: it lets `metadata.version` be lowered between levels whose records are the same.
    Here it is never lowered. A cluster that begins at this release's level sees no difference.
    """
    from kafkalite.controller.events import FeaturesUpdated  # Nothing that a start needs.

    for update in event.updates:
        why = _refusal(image, update, event, settings)
        if why is not None:
            raise KafkaError(
                ErrorCode.INVALID_UPDATE_VERSION,
                "The update failed for all features since the following feature had an error: "
                + why,
            )
    changes: list[Change] = []
    if not event.validate_only:
        levels = [each.level for each in event.updates if each.name == ELIGIBLE_REPLICAS]
        if any(levels):
            changes += one_min_in_sync(image, settings.topics.min_in_sync_replicas)
        for level in levels:
            changes += begun(image) if level else ended(image)
        changes += [
            FeatureLevelRecord(name=each.name, feature_level=each.level) for each in event.updates
        ]
    return changes, FeaturesUpdated()


def _refusal(
    image: MetadataImage,
    update: FeatureUpdate,
    event: UpdateFeatures,
    settings: ControllerSettings,
) -> str | None:
    """What is wrong with one of them, in Kafka's order."""
    name, level, upgrade_type = update
    now = image.features.get(name, 0)
    why = _wrong(update, now, event, settings)
    if why is not None:
        return f"Invalid update version {level} for feature {name}. {why}"
    if name == METADATA and level < now:
        loss = (
            "Unsafe metadata downgrade is not supported in this version."
            if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
            else "Refusing to perform the requested downgrade because it might delete metadata"
            " information."
        )
        return f"Unsupported metadata.version downgrade from {now} to {level}. {loss}"
    return None


def _wrong(
    update: FeatureUpdate, now: int, event: UpdateFeatures, settings: ControllerSettings
) -> str | None:
    name, level, upgrade_type = update
    is_here = name in FINALIZED and not settings.over_zookeeper
    levels = SUPPORTED[name] if is_here else None
    if upgrade_type not in tuple(UpgradeType):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if levels is None:
        return (
            f"Feature {name} not found." if level == 0 else _UNKNOWN.format(id=event.controller_id)
        )
    if not levels.min <= level <= levels.max:
        return _SUPPORTS.format(id=event.controller_id, levels=levels)
    if level < now and upgrade_type == UpgradeType.UPGRADE:
        return _LOWERS_UNASKED
    if level > now and upgrade_type != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None

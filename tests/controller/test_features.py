from __future__ import annotations

import pytest

from kafkalite.controller.eligible_replicas import ELIGIBLE_REPLICAS, min_in_sync_setting
from kafkalite.controller.events import FeatureUpdate, UpdateFeatures
from kafkalite.controller.features import (
    FINALIZED,
    SUPPORTED,
    bootstrap,
    formatted_with,
    update_features,
)
from kafkalite.controller.settings import ControllerSettings, TopicDefaults
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
)
from kafkalite.types import BrokerId
from tests.metadata.sample_changes import golden_changes

TRANSACTIONS = "transaction.version"


def test_the_ranges_are_those_that_kafka_registers() -> None:
    (registered,) = (c for c in golden_changes() if isinstance(c, RegisterBrokerRecord))
    assert {
        f.name: (f.min_supported_version, f.max_supported_version) for f in registered.features
    } == {name: (levels.min, levels.max) for name, levels in SUPPORTED.items()}


def test_what_is_finalized_is_supported_and_at_kafkas_level() -> None:
    levels = {
        c.name: c.feature_level for c in golden_changes() if isinstance(c, FeatureLevelRecord)
    }
    for name, level in FINALIZED.items():
        assert SUPPORTED[name].min <= level <= SUPPORTED[name].max
        assert levels[name] == level


def test_a_new_cluster_starts_with_its_features() -> None:
    begin, *levels, end = bootstrap(MetadataImage())
    assert begin == BeginTransactionRecord(name="Bootstrap records")
    assert end == EndTransactionRecord()
    assert {c.name: c.feature_level for c in levels if isinstance(c, FeatureLevelRecord)} == dict(
        FINALIZED
    )


def test_an_old_one_has_them() -> None:
    assert bootstrap(MetadataImage(features={"metadata.version": 20})) == []


def test_a_new_cluster_keeps_the_min_in_sync_of_its_first_broker() -> None:
    (setting,) = (r for r in formatted_with(3) if isinstance(r, ConfigRecord))
    assert (setting.resource_name, setting.name, setting.value) == ("", "min.insync.replicas", "3")
    assert bootstrap(MetadataImage(), 3)[1:-1] == formatted_with(3)


def test_they_stand_in_kafkas_order() -> None:
    kafkas = [c.name for c in golden_changes() if isinstance(c, FeatureLevelRecord)]
    assert list(FINALIZED) == [name for name in kafkas if name in FINALIZED][: len(FINALIZED)]


def update(*updates: tuple[str, int, int], validate_only: bool = False) -> list[tuple[str, int]]:
    """The levels that are recorded for a cluster that has transactions of version 1."""
    image = MetadataImage(features={"metadata.version": 33, "transaction.version": 1})
    wanted = tuple(FeatureUpdate(*each) for each in updates)
    event = UpdateFeatures(None, wanted, BrokerId(1), validate_only=validate_only)
    changes, _ = update_features(image, event, ControllerSettings())
    levels = [each for each in changes if isinstance(each, FeatureLevelRecord)]
    assert len(levels) == len(changes)
    return [(each.name, each.feature_level) for each in levels]


@pytest.mark.parametrize(
    ("level", "upgrade_type"), [(0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1)]
)
def test_levels_are_raised_and_lowered_as_asked(level: int, upgrade_type: int) -> None:
    assert update((TRANSACTIONS, level, upgrade_type)) == [(TRANSACTIONS, level)]
    assert update((TRANSACTIONS, level, upgrade_type), validate_only=True) == []


def test_with_eligible_replicas_there_is_one_min_in_sync() -> None:
    image = MetadataImage(features={"metadata.version": 33})
    raised = UpdateFeatures(None, (FeatureUpdate(ELIGIBLE_REPLICAS, 1, 1),), BrokerId(1))
    level = FeatureLevelRecord(name=ELIGIBLE_REPLICAS, feature_level=1)
    of_two = ControllerSettings(topics=TopicDefaults(min_in_sync_replicas=2))
    assert update_features(image, raised, of_two)[0] == [min_in_sync_setting("", "2"), level]
    assert update_features(image, raised._replace(validate_only=True), of_two)[0] == []
    lowered = raised._replace(updates=(FeatureUpdate(ELIGIBLE_REPLICAS, 0, 2),))
    with_it = image._replace(features={**image.features, ELIGIBLE_REPLICAS: 1})
    level = FeatureLevelRecord(name=ELIGIBLE_REPLICAS, feature_level=0)
    assert update_features(with_it, lowered, of_two)[0] == [level]


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("name", FINALIZED)
def test_over_zookeeper_no_level_changes(name: str, *, validate_only: bool) -> None:
    image = MetadataImage(features=FINALIZED)
    settings = ControllerSettings(over_zookeeper=True)
    for level, why in ((FINALIZED[name], "controller 1 does not support"), (0, "not found")):
        update = FeatureUpdate(name, level, 1 if level else 2)
        event = UpdateFeatures(None, (update,), BrokerId(1), validate_only)
        with pytest.raises(KafkaError, match=why):
            update_features(image, event, settings)


def test_several_are_recorded_in_their_order() -> None:
    updates = [(TRANSACTIONS, 2, 1), ("group.version", 1, 1)]
    assert update(*updates) == [(TRANSACTIONS, 2), ("group.version", 1)]


INVALID = "Invalid update version {} for feature {}. {}"


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "why"),
    [
        (TRANSACTIONS, 2, 0, "The controller does not support the given upgrade type."),
        (TRANSACTIONS, -1, 1, "A feature version cannot be less than 0."),
        (TRANSACTIONS, 3, 1, "Local controller 1 only supports versions 0-2"),
        (TRANSACTIONS, 2, 2, "Can't downgrade to a newer version."),
        ("nonsense", 1, 1, "Local controller 1 does not support this feature."),
        ("nonsense", 0, 2, "Feature nonsense not found."),
        ("share.version", 1, 1, "Local controller 1 does not support this feature."),
        (
            TRANSACTIONS,
            0,
            1,
            "Can't downgrade the version of this feature without setting the upgrade type to either"
            " safe or unsafe downgrade.",
        ),
    ],
)
def test_one_that_is_wrong_stops_all(name: str, level: int, upgrade_type: int, why: str) -> None:
    with pytest.raises(KafkaError) as refused:
        update((TRANSACTIONS, 2, 1), (name, level, upgrade_type))
    assert refused.value.code is ErrorCode.INVALID_UPDATE_VERSION
    assert refused.value.message == (
        "The update failed for all features since the following feature had an error: "
        + INVALID.format(level, name, why)
    )


@pytest.mark.parametrize(
    ("upgrade_type", "why"),
    [
        (
            2,
            "Refusing to perform the requested downgrade because it might delete metadata"
            " information.",
        ),
        (3, "Unsafe metadata downgrade is not supported in this version."),
    ],
)
def test_the_records_of_the_metadata_are_never_those_of_a_lower_level(
    upgrade_type: int, why: str
) -> None:
    with pytest.raises(KafkaError) as refused:
        update(("metadata.version", 32, upgrade_type))
    assert refused.value.message.endswith(
        f"error: Unsupported metadata.version downgrade from 33 to 32. {why}"
    )

from __future__ import annotations

from kafkalite.controller.features import FINALIZED, SUPPORTED, bootstrap, formatted_with
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
)
from tests.metadata.sample_changes import golden_changes


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

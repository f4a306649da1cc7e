from __future__ import annotations

import pytest

from kafkalite.controller.configs import new_topic_config, topic_config_records
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.metadata_records import ConfigRecord


def test_of_a_key_given_twice_the_last_counts() -> None:
    pairs = (("retention.ms", "7"), ("flush.ms", "6"), ("retention.ms", "8"))
    assert new_topic_config(pairs) == {"retention.ms": "8", "flush.ms": "6"}


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((("no.such", "1"),), "Unknown topic config name: no.such"),
        ((("", "1"),), "Unknown topic config name: "),
        (
            (("retention.ms", None), ("no.such", "1")),
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            (("retention.ms", None), ("zzz", None)),
            "Null value not supported for topic configs: retention.ms,zzz",
        ),
        (
            (("cleanup.policy", "shred"),),
            "Invalid value shred for configuration cleanup.policy: String must be one of: compact,"
            " delete",
        ),
        (
            (("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")),
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_bad_settings(pairs: tuple[tuple[str, str | None], ...], words: str) -> None:
    with pytest.raises(KafkaError) as refused:
        new_topic_config(pairs)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert refused.value.message == words


def test_one_record_a_setting() -> None:
    assert topic_config_records("t", {"flush.ms": "6"}) == [
        ConfigRecord(resource_type=2, resource_name="t", name="flush.ms", value="6")
    ]
    assert topic_config_records("t", {}) == []

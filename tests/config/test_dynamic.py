from __future__ import annotations

import json
from pathlib import Path

from kafkalite.config.dynamic import ConfigSource, EffectiveConfig, effective_topic_configs

VERSIONS = Path(__file__).parent.parent / "data" / "versions.jsonl"


def by_name(configs: list[EffectiveConfig]) -> dict[str, EffectiveConfig]:
    return {config.name: config for config in configs}


def test_the_real_kafka_s_answer_to_create_topics() -> None:
    rows = (json.loads(line) for line in VERSIONS.read_text().splitlines())
    golden = next(row for row in rows if row["key"] == 19 and row["version"] == 7)
    shown = golden["response"]["topics"][0]["configs"]
    ours = effective_topic_configs({"retention.ms": "1000"}, {"min.insync.replicas": "1"}, {})
    assert [(c.name, c.value, c.source.value) for c in ours] == [
        (c["name"], c["value"], c["config_source"]) for c in shown
    ]


def test_the_nearest_layer_wins() -> None:
    static = {"log.retention.ms": "7", "min.insync.replicas": "2"}
    found = by_name(
        effective_topic_configs({"retention.ms": "5"}, {"min.insync.replicas": "3"}, static)
    )
    assert found["retention.ms"] == EffectiveConfig("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC)
    assert found["min.insync.replicas"] == EffectiveConfig(
        "min.insync.replicas", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER
    )


def test_a_broker_s_synonym_in_hours_is_shown_in_the_topic_s_unit() -> None:
    found = by_name(effective_topic_configs({}, {}, {"log.retention.hours": "2"}))
    assert found["retention.ms"] == EffectiveConfig(
        "retention.ms", "7200000", ConfigSource.STATIC_BROKER
    )

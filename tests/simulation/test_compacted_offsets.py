"""The simulation with groups whose offsets are compacted all the time, whatever befalls the broker:
the checkers must find nothing."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.controller import internal_topics
from kafkalite.controller.events import NewTopic
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.server.log_cleaner import LogCleaner
from kafkalite.types import TopicPartition
from tests.simulation.machine import SETTINGS
from tests.simulation.scenario import simulate

COMPACTING = {
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "100",
    "log.segment.delete.delay.ms": "200",
}


@pytest.mark.parametrize("seed", range(1, 7))
def test_groups_lose_nothing_when_their_offsets_are_compacted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = internal_topics._KINDS
    kind = kinds[CONSUMER_OFFSETS]
    done: list[TopicPartition] = []
    cleaned = LogCleaner._cleaned

    def of_small_segments(config: BrokerConfig) -> NewTopic:
        topic = kind.wanted(config)
        return topic._replace(configs=(*topic.configs, ("internal.segment.bytes", "1500")))

    def count(self: LogCleaner, key: TopicPartition, *rest: object) -> None:
        done.append(key)
        cleaned(self, key, *rest)  # type: ignore[arg-type]  # As they came.

    monkeypatch.setitem(kinds, CONSUMER_OFFSETS, kind._replace(wanted=of_small_segments))
    monkeypatch.setattr(LogCleaner, "_cleaned", count)
    for name, value in COMPACTING.items():
        monkeypatch.setitem(SETTINGS, name, value)
    try:
        simulate(seed)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    assert {key.topic for key in done} == {CONSUMER_OFFSETS}

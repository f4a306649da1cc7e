"""Placement, held against what Kafka's `StripedReplicaPlacer` did with the same seeds.

`placements.json` is the output of `Placements.java`, run by `compat_tests/oracle/kafka java`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kafkalite.controller.placement import JavaRandom, place_replicas
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import BrokerImage
from kafkalite.types import BrokerEpoch, BrokerId, Uuid


def broker(text: str) -> BrokerImage:
    """`1`, `1@rack`, `1!` (fenced)."""
    name, _, rack = text.rstrip("!").partition("@")
    return BrokerImage(
        BrokerId(int(name)),
        BrokerEpoch(0),
        Uuid(bytes(16)),
        (),
        {},
        rack=rack or None,
        fenced=text.endswith("!"),
    )


def brokers(text: str) -> list[BrokerImage]:
    return [broker(part) for part in text.split(",")]


def test_the_same_seed_places_as_kafka_does() -> None:
    placements = json.loads((Path(__file__).parent / "placements.json").read_text())
    assert len(placements) > 100
    for case in placements:
        placed = place_replicas(
            brokers(case["brokers"]), partitions=13, factor=case["factor"], seed=case["seed"]
        )
        assert [list(replicas) for replicas in placed] == case["placed"], case


def test_leaders_are_spread_evenly_and_replicas_over_racks() -> None:
    members = brokers("0@a,1@a,2@b,3@b,4@c,5@c")
    placed = place_replicas(members, partitions=60, factor=3, seed=7)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}
    rack_of = {member.id: member.rack for member in members}
    assert all({rack_of[id] for id in replicas} == {"a", "b", "c"} for replicas in placed)


@pytest.mark.parametrize(
    ("members", "factor", "words"),
    [
        (
            "1,2!",
            3,
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are"
            " registered or some brokers have all their log directories cordoned.",
        ),
        (
            "1!,2!",
            1,
            "All brokers are currently fenced, or have all their log directories cordoned.",
        ),
    ],
)
def test_too_few_brokers(members: str, factor: int, words: str) -> None:
    with pytest.raises(KafkaError) as refused:
        place_replicas(brokers(members), partitions=1, factor=factor, seed=0)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert refused.value.message == f"Unable to replicate the partition {factor} time(s): {words}"


def test_no_brokers_at_all() -> None:
    with pytest.raises(KafkaError, match="All brokers are currently fenced"):
        place_replicas([], partitions=1, factor=1, seed=0)


def test_java_random_draws_again_where_a_bound_would_skew() -> None:
    """2^30 + 1 makes almost half of all draws unfair; the numbers are Java's."""
    random = JavaRandom(42)
    drawn = [random.below((1 << 30) + 1) for _ in range(8)]
    assert drawn == EXPECTED_DRAWS
    assert all(0 <= number <= 1 << 30 for number in drawn)


EXPECTED_DRAWS = [
    117392763,
    102948884,
    662969970,
    595021505,
    196118093,
    969067502,
    791955276,
    819572292,
]

"""Which partition keeps what a key names, and who leads it."""

from __future__ import annotations

import pytest

from kafkalite.coordinator import partitioner
from kafkalite.coordinator.partitioner import (
    MOST_CHARACTERS,
    STATE_TOPICS,
    CoordinatorType,
    coordinator_of,
    is_key,
    java_hash,
    partition_for,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.types import NO_LEADER, BrokerId, LeaderEpoch, Uuid


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("range", 108280125),
        ("\U0001f600", 1772899),
        ("grüße", 98768023),
    ],
)
def test_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_long_texts_are_hashed_and_not_remembered() -> None:
    """A client may ask for any number of them."""
    before = partitioner._remembered.cache_info().currsize
    assert java_hash("\0" * MOST_CHARACTERS + "hello") == 99162322
    assert partitioner._remembered.cache_info().currsize == before


def test_the_least_integer_has_no_absolute_value() -> None:
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("polygenelubricants", 7) == 0


def test_partition_is_the_remainder() -> None:
    assert partition_for("hello", 50) == 22
    assert partition_for("\U0001f600", 50) == 49
    assert partition_for("anything", 1) == 0


def test_half_of_an_emoji_is_hashed_as_java_does() -> None:
    assert java_hash("\ud83d") == 0xD83D


def led_by(*leaders: int) -> TopicImage:
    """A topic whose partitions these lead."""
    partitions = tuple(
        PartitionImage(
            replicas=(BrokerId(leader),),
            isr=(BrokerId(leader),),
            leader=BrokerId(leader),
            leader_epoch=LeaderEpoch(0),
            partition_epoch=0,
        )
        for leader in leaders
    )
    return TopicImage("state", ID, partitions)


ID = Uuid(bytes(15) + b"\1")
TEXT = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_each_kind_has_its_topic() -> None:
    assert set(STATE_TOPICS) == set(CoordinatorType)
    assert set(STATE_TOPICS.values()) == INTERNAL_TOPICS


@pytest.mark.parametrize("kind", [CoordinatorType.GROUP, CoordinatorType.TRANSACTION])
@pytest.mark.parametrize("key", ["hello", "", "polygenelubricants", "\U0001f600", "a:b:c"])
def test_the_leader_of_its_partition_coordinates_what_a_key_names(
    kind: CoordinatorType, key: str
) -> None:
    leaders = list(range(10, 17))
    assert coordinator_of(kind, key, led_by(*leaders)) == leaders[partition_for(key, 7)]
    assert is_key(kind, key)
    assert coordinator_of(kind, key, led_by(NO_LEADER)) == NO_LEADER


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (f"group:{TEXT}:0", f"group:{TEXT}:0"),
        (f"group:{TEXT}:+7", f"group:{TEXT}:7"),
        (f"group:{TEXT}:-007", f"group:{TEXT}:-7"),
        (f"a:b:{TEXT}:1", f"a:b:{TEXT}:1"),
        (f"::{TEXT}:2147483647", f"::{TEXT}:2147483647"),
    ],
)
def test_a_share_key_is_hashed_as_kafka_writes_it(key: str, hashed: str) -> None:
    leaders = list(range(10, 27))
    found = coordinator_of(CoordinatorType.SHARE, key, led_by(*leaders))
    assert found == leaders[partition_for(hashed, 17)]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "group",
        f"{TEXT}:0",
        f":{TEXT}:0",
        f"  \t:{TEXT}:0",
        f"group:{TEXT}:",
        f"group:{TEXT}: 1",
        f"group:{TEXT}:1x",
        f"group:{TEXT}:2147483648",
        f"group:{TEXT}:-2147483649",
        f"group:{TEXT}:\u0661",
        "group:too-short:0",
        "group:\u00fc:0",
    ],
)
def test_what_is_no_share_key(key: str) -> None:
    assert not is_key(CoordinatorType.SHARE, key)
    with pytest.raises(KafkaError) as refusal:
        coordinator_of(CoordinatorType.SHARE, key, led_by(1))
    assert refusal.value.code is ErrorCode.INVALID_REQUEST

"""Requests that the real Kafka 4.4.0 was asked, byte for byte, and every field of its answers.

Every version of each API that kafkalite serves. Compared is all but what no two brokers share: ids,
addresses, disks, words of documentation, and the list of APIs, of which ours is a part of Kafka's.
The topic's id and the time of the records are put in anew: a broker deletes what is older than
`retention.ms`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest

from compat_tests.golden import Fields, Golden, rows

REPLAYED = (
    "ApiVersions",
    "Metadata",
    "Produce",
    "Fetch",
    "ListOffsets",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "CreatePartitions",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "DescribeLogDirs",
    "ListPartitionReassignments",
    "DescribeCluster",
    "DescribeTopicPartitions",
    "FindCoordinator",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "ListGroups",
    "DescribeGroups",
    "DeleteGroups",
    "OffsetForLeaderEpoch",
)
RECORDED = [row for row in rows("versions.jsonl") if row["api"] in REPLAYED]
JAVA_API_VERSIONS_5 = next(
    row for row in rows("wire.jsonl") if (row["key"], row["version"]) == (18, 5)
)
RECORDS_FROM, TIME = 17, slice(27, 35)
"""Of a record batch: from its CRC on; its base timestamp."""
DIFFERS = {
    "topic_id",
    "host",
    "port",
    "cluster_id",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "documentation",
    "member_id",
    "leader",
}
"""Fields that are another's in each broker. Documentation is in our own words."""


@dataclass(frozen=True, slots=True)
class Answer:
    outcome: str
    frame: bytes | None


@pytest.fixture(scope="module")
def golden(bootstrap: str) -> Golden:
    return Golden(bootstrap)


@pytest.fixture(scope="module")
def answers(golden: Golden) -> dict[tuple[str, int], Answer]:
    """All recorded requests put to the broker in the order of the recording, since they build on
    each other."""
    golden.await_coordinators()
    golden.fresh_groups("g", *(f"sweep-{version}" for version in range(10)))
    golden.fresh_topics({"t": {"num_partitions": 2}})
    leftover = [{"name": f"sweep-{version}", "topic_id": None} for version in range(10)]
    golden.call("DeleteTopics", 6, {"topics": leftover, "timeout_ms": 5_000})
    fetch, produce = (
        next(row["request"] for row in RECORDED if row["api"] == api)
        for api in ("Fetch", "Produce")
    )
    recorded_id = uuid.UUID(fetch["topics"][0]["topic_id"]).bytes
    topic_id = uuid.UUID(golden.metadata(["t"])["topics"][0]["topic_id"]).bytes
    batch = bytes.fromhex(produce["topic_data"][0]["partition_data"][0]["records"])
    assert golden.script["batch"](ts=int.from_bytes(batch[TIME])) == batch
    recorded, of_now = batch[RECORDS_FROM:], golden.script["batch"]()[RECORDS_FROM:]
    answers = {}
    for row in RECORDED:
        frame = bytes.fromhex(row["request_hex"]).replace(recorded_id, topic_id)
        outcome, answer = golden.ask(frame.replace(recorded, of_now))
        if answer is not None:
            answer = answer.replace(of_now, recorded)
        answers[row["api"], row["version"]] = Answer(outcome, answer)
    return answers


def by_group(response: object) -> object:
    assert isinstance(response, dict)
    groups = {group["group_id"]: group for group in response["groups"]}
    assert len(groups) == len(response["groups"])
    return {**response, "groups": groups}


def comparable(value: object) -> object:
    """Without what differs from broker to broker."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items() if name not in DIFFERS}
    return value


@pytest.mark.parametrize(
    "row",
    [row for row in RECORDED if row["api"] != "ApiVersions"],
    ids=lambda row: f"{row['api']}-v{row['version']}",
)
def test_answers_are_kafkas(
    golden: Golden, answers: dict[tuple[str, int], Answer], row: Fields
) -> None:
    answer = answers[row["api"], row["version"]]
    assert answer.outcome == row["outcome"]
    if answer.frame is not None:
        decoded = golden.decode(row["api"], row["version"], answer.frame)
        if row["api"] == "ListGroups":
            assert {*map(str, row["response"]["groups"])} <= {*map(str, decoded["groups"])}
        elif row["api"] == "DescribeGroups":  # Kafka's coordinators answer in any order.
            assert by_group(comparable(decoded)) == by_group(comparable(row["response"]))
        else:
            assert comparable(decoded) == comparable(row["response"])


@pytest.mark.parametrize("version", range(5))
def test_advertised_versions_are_kafkas(
    golden: Golden, answers: dict[tuple[str, int], Answer], version: int
) -> None:
    recorded = next(r for r in RECORDED if (r["api"], r["version"]) == ("ApiVersions", version))
    answer = answers["ApiVersions", version]
    assert answer.frame is not None
    ours = golden.decode("ApiVersions", version, answer.frame)
    assert_part_of(ours, recorded["response"])
    assert {key["api_key"] for key in ours["api_keys"]} >= {row["key"] for row in RECORDED}


def test_version_5_is_answered_as_version_4(golden: Golden) -> None:
    """kafka-python does not know version 5, whose answer has the same fields."""
    recorded = next(r for r in RECORDED if (r["api"], r["version"]) == ("ApiVersions", 4))
    outcome, frame = golden.ask(bytes.fromhex(JAVA_API_VERSIONS_5["request_hex"]))
    assert outcome == "response"
    assert frame is not None
    assert_part_of(golden.decode("ApiVersions", 4, frame), recorded["response"])


def assert_part_of(ours: Fields, kafkas: Fields) -> None:
    """Each API and each feature as in Kafka's answer; those that are missing are missing."""
    theirs = {key["api_key"]: key for key in kafkas["api_keys"]}
    assert ours["error_code"] == 0
    assert [(key, theirs.get(key["api_key"])) for key in ours["api_keys"]] == [
        (key, key) for key in ours["api_keys"]
    ]
    for features in ("supported_features", "finalized_features"):
        known = {feature["name"]: feature for feature in kafkas.get(features) or []}
        for feature in ours.get(features) or []:
            assert feature == known[feature["name"]]


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_without_a_transactional_id(golden: Golden, version: int) -> None:
    fields = {
        "transactional_id": None,
        "transaction_timeout_ms": 30_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    first, second = (golden.init_producer_id(version, fields) for _ in range(2))
    assert second["producer_id"] > first["producer_id"] >= 0
    for answer in (first, second):
        del answer["producer_id"]
        # Fields of two-phase commit, where the version has them, say that there is none.
        assert answer["throttle_time_ms"] == 0
        assert answer["error_code"] == 0
        assert answer["producer_epoch"] == 0

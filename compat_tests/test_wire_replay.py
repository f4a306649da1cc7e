"""Requests that the real Kafka 4.4.0 was asked, byte for byte, and every field of its answers.

Every version of each API that kafkalite serves. Compared is all but what no two brokers share
(`DIFFERS`), and the list of APIs, of which ours is a part of Kafka's.
The topic's id and the time of the records are put in anew: a broker deletes what is older than
`retention.ms`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from compat_tests.golden import Fields, Golden, rows, turns

REPLAYED = (
    "ApiVersions",
    "Metadata",
    "Produce",
    "Fetch",
    "ListOffsets",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "UpdateFeatures",
    "CreatePartitions",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "AlterReplicaLogDirs",
    "DescribeLogDirs",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "DescribeQuorum",
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
    "ListConfigResources",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnOffsetCommit",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
    "DescribeClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
)
RECORDED = [row for row in rows("versions.jsonl") if row["api"] in REPLAYED]
JAVA_API_VERSIONS_5 = next(
    row for row in rows("wire.jsonl") if (row["key"], row["version"]) == (18, 5)
)
OF_TRANSACTIONS = {"key_type": 1, "coordinator_keys": ["t"]}
RECORDS_FROM, TIME = 17, slice(27, 35)
"""Of a record batch: from its CRC on; its base timestamp."""
DIFFERS = {
    "CreateTopics": {"topic_id"},
    "DeleteTopics": {"topic_id"},
    "DescribeCluster": {"host", "port", "cluster_id"},
    "DescribeConfigs": {"documentation"},
    "DescribeLogDirs": {"log_dir", "total_bytes", "usable_bytes"},
    "DescribeQuorum": {
        "leader_epoch",
        "high_watermark",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "replica_directory_id",
        "name",
        "host",
        "port",
    },
    "FindCoordinator": {"host", "port"},
    "JoinGroup": {"member_id", "leader"},
    "Metadata": {"host", "port", "cluster_id"},
}
"""By API, fields that are another's in each broker. Documentation is in our own words."""
LISTS_WHAT_IS_THERE = {
    **{("ListGroups", version): "groups" for version in range(6)},
    **{("ListTransactions", version): "transaction_states" for version in range(3)},
    ("ListConfigResources", 1): "config_resources",
    ("DescribeUserScramCredentials", 0): "results",
}
"""Answers with a list of all that the broker has, also of other tests'; the list's name."""


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
    # That brings its topic, which the list of all resources has.
    for _ in turns("a coordinator of transactions"):
        if not golden.errors(golden.call("FindCoordinator", 4, OF_TRANSACTIONS)):
            break
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
            answer = answer.replace(of_now, recorded).replace(topic_id, recorded_id)
        answers[row["api"], row["version"]] = Answer(outcome, answer)
    return answers


def by_group(response: Fields) -> Fields:
    groups = {group["group_id"]: group for group in response["groups"]}
    assert len(groups) == len(response["groups"])
    return {**response, "groups": groups}


def comparable(api: str, value: Any) -> Any:  # Any: JSON.
    """Without what differs from broker to broker. Whether a member leads remains."""
    if isinstance(value, list):
        return [comparable(api, item) for item in value]
    if isinstance(value, dict):
        differs = DIFFERS.get(api, set())
        kept = {n: comparable(api, item) for n, item in value.items() if n not in differs}
        if "leader" in differs & value.keys():
            kept["has a leader"] = bool(value["leader"])
            kept["leads"] = value["leader"] == value["member_id"] != ""
        return kept
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
        assert_alike(row, golden.decode(row["api"], row["version"], answer.frame))


def assert_alike(row: Fields, decoded: Fields) -> None:
    """The answer is the recorded one."""
    listed = LISTS_WHAT_IS_THERE.get((row["api"], row["version"]))
    ours, kafkas = (comparable(row["api"], each) for each in (decoded, row["response"]))
    if listed is not None:
        assert {*map(str, kafkas[listed])} <= {*map(str, ours[listed])}
        ours, kafkas = ({**each, listed: None} for each in (ours, kafkas))
    elif row["api"] == "DescribeGroups":  # Kafka's coordinators answer in any order.
        ours, kafkas = by_group(ours), by_group(kafkas)
    assert ours == kafkas


def test_fields_are_left_out_of_the_answers_that_have_them_alone() -> None:
    """A field of one API's own is compared in every other."""
    assert comparable("Metadata", {"leader": 1, "host": "h"}) == {"leader": 1}
    assert comparable("LeaveGroup", {"member_id": "m"}) == {"member_id": "m"}
    first = {"leader": "a", "member_id": "a", "generation_id": 1}
    second = {"leader": "b", "member_id": "b", "generation_id": 1}
    assert comparable("JoinGroup", first) == comparable("JoinGroup", second)
    follows = {**second, "leader": "c"}
    assert comparable("JoinGroup", follows) != comparable("JoinGroup", second)


def test_what_differs_is_recorded() -> None:
    """Each name in `DIFFERS` is that of a field of such an answer."""
    for api, names in DIFFERS.items():
        answers = str([row["response"] for row in RECORDED if row["api"] == api])
        assert [name for name in names if f"'{name}': " not in answers] == [], api


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

"""A cluster full of things, by clients alone, and what a cluster says that it holds: to be compared
after another broker has taken over its data folder."""

from __future__ import annotations

import copy
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.admin import (
    KafkaAdminClient,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from compat_tests.cli.command_line import CommandLine
from compat_tests.client_cases import Codec
from compat_tests.kafka_python.adapter import KafkaPythonClient
from compat_tests.sample import BASE_TIMESTAMP, Sample, samples

CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
End = Literal["stopped", "killed"]
"""How the broker ended that had the folder before."""
GROUP = "readers"
COMPACTED = "compacted"
SEGMENTED = "segmented"
"""2.5 MB in segments of 1 MiB, the least there is."""
RECREATED = "recreated"
TRIMMED = "trimmed"
TRIMMED_TO = 7
DELETED = "deleted"
TOPICS = (
    *(f"codec-{codec}" for codec in CODECS),
    COMPACTED,
    SEGMENTED,
    RECREATED,
    TRIMMED,
    "stamped",
    "altered",
    "three:3",
)


@dataclass(frozen=True, slots=True)
class Contents:
    """All that clients can see."""

    topics: Any  # `Any`: documents of `topics describe`; so are those below.
    records: dict[str, list[Any]]
    """Of a compacted topic the last of each key: any broker may compact it at any moment."""
    groups: Any
    broker_configs: Any
    credentials: dict[str, list[tuple[str, int]]]
    """Of each user: mechanisms and iterations."""

    def after(self, end: End) -> Contents:
        """What of it is still promised then: a broker that is killed may forget what DeleteRecords
        took, since it writes that down only now and then, as the real one does."""
        if end == "stopped":
            return self
        topics = copy.deepcopy(self.topics)
        for topic in topics:
            if topic["topic"] == TRIMMED:
                del topic["partitions"][0]["start_offset"]
        kept = [record for record in self.records[TRIMMED] if record["offset"] >= TRIMMED_TO]
        return replace(self, topics=topics, records={**self.records, TRIMMED: kept})


def fill(kafkalite: CommandLine, address: str) -> None:
    """Topics of many kinds, some of them altered, deleted, made anew; commits, settings."""
    at = ("-b", address)
    client = KafkaPythonClient(address)
    kafkalite("topics", "create", *TOPICS, DELETED, *at)
    sets = {
        COMPACTED: (
            "cleanup.policy=compact",
            "min.cleanable.dirty.ratio=0.01",
            "internal.segment.bytes=500",
        ),
        SEGMENTED: ("segment.bytes=1048576", "index.interval.bytes=1024"),
        "stamped": ("message.timestamp.type=LogAppendTime",),
        "altered": ("retention.ms=7200000", "max.message.bytes=2000000"),
        "codec-gzip": ("compression.type=gzip",),
    }
    for topic, settings in sets.items():
        kafkalite("configs", "set", "topic", topic, *settings, *at)
    kafkalite("configs", "set", "topic", "altered", "retention.ms=86400000", *at)
    kafkalite("configs", "delete", "topic", "altered", "max.message.bytes", *at)
    kafkalite("configs", "set", "broker", "1", "log.retention.ms=172800000", *at)
    kafkalite("topics", "alter", "altered", "--partitions", "2", *at)
    sent = samples(200)
    for codec in CODECS:
        client.produce(f"codec-{codec}", sent, codec=codec, idempotent=codec == "lz4")
    for topic in (RECREATED, DELETED, TRIMMED, "stamped", "altered"):
        client.produce(topic, sent[:20])
    for partition in range(3):
        client.produce("three", sent[partition::3], partition=partition)
    keyed = [Sample(b"key-%d" % (n % 7), b"%d" % n, (), BASE_TIMESTAMP + n) for n in range(60)]
    keyed[50] = Sample(keyed[50].key, None, (), BASE_TIMESTAMP + 50)
    for start in range(0, len(keyed), 6):
        client.produce(COMPACTED, keyed[start : start + 6])  # A batch at least: segments end.
    client.produce(SEGMENTED, [Sample(b"%d" % n, b"x" * 50_000) for n in range(50)])
    kafkalite("topics", "delete", RECREATED, DELETED, *at)
    _await_gone(client, {RECREATED, DELETED})
    kafkalite("topics", "create", RECREATED, *at)
    client.produce(RECREATED, sent[:5])
    with closing(KafkaAdminClient(bootstrap_servers=address)) as admin:
        admin.delete_records({TopicPartition(TRIMMED, 0): TRIMMED_TO})
        _set_credentials(admin)
    _commit(address, GROUP, {"three": (4, 5, 6), "codec-zstd": (17,)})
    _commit(address, "left", {"three": (1,)})
    kafkalite("groups", "delete", "left", *at)


def _set_credentials(admin: KafkaAdminClient) -> None:
    """Set, set anew, deleted."""
    for alterations in (
        [UserScramCredentialUpsertion("alice", "SCRAM-SHA-256", "a", 4096)],
        [UserScramCredentialUpsertion("alice", "SCRAM-SHA-512", "a", 4096)],
        [UserScramCredentialUpsertion(user, "SCRAM-SHA-256", "b", 8192) for user in ("alice", "b")],
        [UserScramCredentialDeletion("b", "SCRAM-SHA-256")],
    ):
        assert set(admin.alter_user_scram_credentials(alterations).values()) == {None}


def _await_gone(client: KafkaPythonClient, topics: set[str]) -> None:
    """The real Kafka's broker learns of it a moment later; each question takes a connection."""
    while topics & client.topics():
        pass


def _commit(address: str, group: str, offsets: dict[str, tuple[int, ...]]) -> None:
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=group, enable_auto_commit=False)
    with closing(consumer):
        consumer.commit(
            {
                TopicPartition(topic, partition): OffsetAndMetadata(offset, f"about {offset}", 0)
                for topic, all_of_them in offsets.items()
                for partition, offset in enumerate(all_of_them)
            }
        )


def contents(kafkalite: CommandLine, address: str) -> Contents:
    """What the cluster says now."""
    at = ("-b", address)
    names = [topic["topic"] for topic in kafkalite.json("topics", "list", *at)]
    topics = kafkalite.json("topics", "describe", *names, *at)
    groups = [group["group"] for group in kafkalite.json("groups", "list", *at)]
    for topic in topics:
        for partition in topic["partitions"]:
            del partition["leader_epoch"]  # It grows with each start.
            if topic["topic"] == COMPACTED:
                del partition["start_offset"]
    return Contents(
        topics,
        {name: _records(kafkalite, address, name) for name in names},
        kafkalite.json("groups", "describe", *groups, *at) if groups else [],
        kafkalite.json("configs", "describe", "broker", "1", *at),
        _credentials(address),
    )


def _credentials(address: str) -> dict[str, list[tuple[str, int]]]:
    with closing(KafkaAdminClient(bootstrap_servers=address)) as admin:
        described = admin.describe_user_scram_credentials()
    return {
        user: sorted(
            (each["mechanism"].name, each["iterations"]) for each in of_it["credential_infos"]
        )
        for user, of_it in described.items()
    }


def _records(kafkalite: CommandLine, address: str, topic: str) -> list[Any]:
    found = kafkalite.records(topic, "-b", address)
    found.sort(key=lambda record: (record["partition"], record["offset"]))
    if topic == COMPACTED:
        return list({record["key"]: record for record in found}.values())
    return found


def add_one_to_each(address: str) -> None:
    """A record behind all others, in partition 0 of every topic."""
    client = KafkaPythonClient(address)
    for topic in TOPICS:
        client.produce(topic.partition(":")[0], [Sample(b"last", b"of all")])

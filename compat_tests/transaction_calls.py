"""Transactions as raw requests, with what is the same on every broker in the answers: codes, and
how epochs move."""

from __future__ import annotations

from compat_tests.golden import Fields, Golden, turns

CONCURRENT = 51
READY_CODES = (14, 15, 16)
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""
TRANSACTIONAL = 0x10


class TransactionCalls:
    """One transactional id, asked about by whoever thinks that it is its producer."""

    def __init__(self, golden: Golden, id: str, topic: str) -> None:
        self.golden = golden
        self.id = id
        self.topic = topic
        self.producer_id = -1
        self.epoch = -1
        self.sequence = 0

    def init(
        self, *, version: int = 4, timeout_ms: int = 60_000, expected: tuple[int, int] = (-1, -1)
    ) -> Fields:
        """One try, when the broker is ready for it."""
        fields = {
            "transactional_id": self.id,
            "transaction_timeout_ms": timeout_ms,
            "producer_id": expected[0],
            "producer_epoch": expected[1],
        }
        answer: Fields = {}
        for _ in turns(f"a coordinator of {self.id}"):
            find = {"key_type": 1, "coordinator_keys": [self.id]}
            if self.golden.errors(self.golden.call("FindCoordinator", 4, find)):
                continue
            answer = self.golden.call("InitProducerId", version, fields)
            if answer["error_code"] not in READY_CODES:
                break
        return answer

    def begin(self, *, timeout_ms: int = 60_000) -> int:
        """Be the producer, after as many tries as it takes: its epoch."""
        for _ in turns(f"the last transaction of {self.id} is over"):
            answer = self.init(timeout_ms=timeout_ms)
            if answer["error_code"] != CONCURRENT:
                break
        assert not answer["error_code"], answer
        self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
        self.sequence = 0
        return self.epoch

    def add(self, *, version: int = 3, partition: int = 0) -> int:
        """The partition's code."""
        asked = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": self.topic, "partitions": [partition]}],
        }
        code = CONCURRENT
        for _ in turns(f"the last transaction of {self.id} is over"):
            answer = self.golden.call("AddPartitionsToTxn", version, asked)
            (topic,) = answer["results_by_topic_v3_and_below"]
            code = topic["results_by_partition"][0]["partition_error_code"]
            if code != CONCURRENT:
                break
        return code

    def send(
        self, *, version: int = 11, partition: int = 0, timestamp_ms: int | None = None
    ) -> int:
        """One record: the partition's code. `timestamp_ms` is the recording's by default."""
        stamped = {} if timestamp_ms is None else {"ts": timestamp_ms}
        batch = self.golden.script["batch"](
            pid=self.producer_id,
            epoch=self.epoch,
            seq=self.sequence,
            attrs=TRANSACTIONAL,
            **stamped,
        )
        _, version, fields = self.golden.script["produce"](
            batch, topic=self.topic, part=partition, txn=self.id, version=version
        )
        code = CONCURRENT
        for _ in turns(f"the last transaction of {self.id} is over"):
            answer = self.golden.call("Produce", version, fields)
            code = answer["responses"][0]["partition_responses"][0]["error_code"]
            if code != CONCURRENT:
                break
        if not code:
            self.sequence += 1
        return code

    def add_offsets(self, group: str, *, version: int = 3) -> int:
        """The code."""
        asked = {
            "transactional_id": self.id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "group_id": group,
        }
        code: int = CONCURRENT
        for _ in turns(f"the last transaction of {self.id} is over"):
            code = self.golden.call("AddOffsetsToTxn", version, asked)["error_code"]
            if code not in (CONCURRENT, *READY_CODES):
                break
        return code

    def commit_offset(
        self,
        group: str,
        offset: int,
        *,
        version: int = 3,
        member: str = "",
        generation: int = -1,
        instance: str | None = None,
    ) -> int:
        """The partition's code. `generation`, or the member's epoch."""
        partition = {
            "partition_index": 0,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        asked = {
            "transactional_id": self.id,
            "group_id": group,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "generation_id": generation,
            "member_id": member,
            "group_instance_id": instance,
            "topics": [{"name": self.topic, "partitions": [partition]}],
        }
        code: int = CONCURRENT
        for _ in turns(f"the last transaction of {self.id} is over"):
            answer = self.golden.call("TxnOffsetCommit", version, asked)
            code = answer["topics"][0]["partitions"][0]["error_code"]
            if code not in (CONCURRENT, *READY_CODES):
                break
        return code

    def committed_offset(self, group: str) -> tuple[int, int]:
        """The stable one, and the code."""
        asked = {
            "groups": [
                {
                    "group_id": group,
                    "member_id": None,
                    "member_epoch": -1,
                    "topics": [{"name": self.topic, "partition_indexes": [0]}],
                }
            ],
            "require_stable": True,
        }
        answer = self.golden.call("OffsetFetch", 8, asked)
        partition = answer["groups"][0]["topics"][0]["partitions"][0]
        return partition["committed_offset"], partition["error_code"]

    def mark(self, *, version: int, epoch: int, commits: bool = False, coordinator: int = 0) -> int:
        """The code of a marker that is written by hand."""
        marker = {
            "producer_id": self.producer_id,
            "producer_epoch": epoch,
            "transaction_result": commits,
            "topics": [{"name": self.topic, "partition_indexes": [0]}],
            "coordinator_epoch": coordinator,
            "transaction_version": 2 if version >= 2 else 0,
        }
        answer = self.golden.call("WriteTxnMarkers", version, {"markers": [marker]})
        code: int = answer["markers"][0]["topics"][0]["partitions"][0]["error_code"]
        return code

    def described(self) -> Fields:
        """As its coordinator has it."""
        asked = {"transactional_ids": [self.id]}
        state: Fields = self.golden.call("DescribeTransactions", 0, asked)["transaction_states"][0]
        return state

    def in_partition(self) -> Fields:
        """As its partition has it."""
        asked = {"topics": [{"name": self.topic, "partition_indexes": [0]}]}
        answer = self.golden.call("DescribeProducers", 0, asked)
        producers = answer["topics"][0]["partitions"][0]["active_producers"]
        (found,) = (each for each in producers if each["producer_id"] == self.producer_id)
        state: Fields = found
        return state

    def end(self, *, commits: bool, version: int = 3) -> int:
        """The code, once nothing is under way; under version 5 the producer goes on as told."""
        asked = {
            "transactional_id": self.id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commits,
        }
        answer: Fields = {}
        for _ in turns(f"the last transaction of {self.id} is over"):
            answer = self.golden.call("EndTxn", version, asked)
            if answer["error_code"] != CONCURRENT:
                break
        if not answer["error_code"] and version >= 5:
            self.producer_id, self.epoch = answer["producer_id"], answer["producer_epoch"]
            self.sequence = 0
        code: int = answer["error_code"]
        return code

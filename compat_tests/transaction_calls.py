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

    def send(self, *, version: int = 11, partition: int = 0) -> int:
        """One record: the partition's code."""
        batch = self.golden.script["batch"](
            pid=self.producer_id, epoch=self.epoch, seq=self.sequence, attrs=TRANSACTIONAL
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

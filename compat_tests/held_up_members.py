"""Members in other languages that are held up for longer than their session: two processes of a
program for each of its libraries, all at once, for a session takes its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

from confluent_kafka.admin import AdminClient

from compat_tests.confluent.adapter import WAIT_S, ConfluentClient
from compat_tests.group_cases import fill
from compat_tests.programs import Command
from compat_tests.sample import BASE_TIMESTAMP
from compat_tests.waiting import wait_until

EACH = 5
"""Records of a partition; a program ends with so many."""
END_S = 60


class Pair:
    """Two members of a group, of which one is held up."""

    def __init__(self, bootstrap: str, command: Command, topic: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._client, self._topic = ConfluentClient(bootstrap), topic
        self._client.create_topic(topic, 2)
        told = {"BOOTSTRAP": bootstrap, "BASE_TIMESTAMP": str(BASE_TIMESTAMP)}
        self._processes = [
            subprocess.Popen(
                [*command, "held-up", topic],
                env={**os.environ, **told},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]

    def has(self, *partitions: int) -> bool:
        """Whether the group is at rest, and members have so many. Ends when a process has ended."""
        for process in self._processes:
            assert process.poll() is None, process.communicate()
        group = self._admin.describe_consumer_groups([self._topic])[self._topic].result(WAIT_S)
        counts = [len(member.assignment.topic_partitions) for member in group.members]
        return group.state.name == "STABLE" and counts == [*partitions]

    def send(self, number: signal.Signals) -> None:
        """To the one that is held up."""
        self._processes[0].send_signal(number)

    def finish(self) -> None:
        """Both read what there is."""
        fill(self._client, self._topic, 2, EACH)
        received: set[tuple[int, ...]] = set()
        for process in self._processes:
            stdout, stderr = process.communicate(timeout=END_S)
            facts: dict[str, Any] = json.loads(stdout.splitlines()[-1])  # Any: JSON.
            assert facts["ok"], (facts, stderr[-2_000:])
            received |= {tuple(place) for place in facts["received"]}
        assert received == {(partition, offset) for partition in range(2) for offset in range(EACH)}

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


def hold_up(commands: Mapping[str, Command], bootstrap: str, topic: str) -> None:
    """One of two members is stopped: the other one has all when its session is over, and it has its
    part again when it goes on. Sessions take up to 45 s (consumer groups of the real Kafka).
    `commands`: by library, without the scenario."""
    pairs: list[Pair] = []
    try:
        for library, command in commands.items():
            pairs.append(Pair(bootstrap, command, f"{topic}-{library}"))
        wait_until(lambda: all(pair.has(1, 1) for pair in pairs), "both to share")
        for pair in pairs:
            pair.send(signal.SIGSTOP)
        wait_until(lambda: all(pair.has(2) for pair in pairs), "one to have all")
        for pair in pairs:
            pair.send(signal.SIGCONT)
        wait_until(lambda: all(pair.has(1, 1) for pair in pairs), "both to share again")
        for pair in pairs:
            pair.finish()
    finally:
        for pair in pairs:
            pair.close()

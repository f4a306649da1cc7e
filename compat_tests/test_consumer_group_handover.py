"""The real Kafka starts on a folder that kafkalite wrote, and the reverse: whoever takes it over
shows the same groups, members and offsets, to `kafka-consumer-groups` too."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from compat_tests.consumer_group_talk import Connection, Names, Talker, commits, prepare
from compat_tests.java.transcript import Stage, Step
from compat_tests.migration_talk import Group
from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import RealKafka
from compat_tests.told_groups import groups_at

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

# Nobody sends heartbeats while the broker is another one.
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.consumer.max.session.timeout.ms": "300000",
    "group.consumer.session.timeout.ms": "300000",
    "group.consumer.assignment.interval.ms": "0",
}
GROUPS = ("consumers", "mixed", "classic", "static", "simple")
QUESTIONS = (
    "--list --state --type",
    "--describe --all-groups --offsets --verbose",
    "--describe --all-groups --members --verbose",
    "--describe --all-groups --state --verbose",
)


def fill(address: str) -> list[str]:
    """A group of the consumer protocol, one of both, two classic ones, and one that has offsets and
    no members; the names that they have here."""
    names = Names()
    groups = {name: names.of_here(name) for name in GROUPS}
    with ExitStack() as stack:
        connection = stack.enter_context(closing(Connection(address)))
        prepare(connection, names, groups.values())
        consumers = Talker(connection, 1, groups["consumers"], names)
        consumers.join("a", ("t", "u"))
        consumers.join("b", ("t",), instance="i")
        consumers.settle()
        consumers.join("c")  # It waits for what the others have to give up.
        simple = Talker(connection, 1, groups["simple"], names)
        _, (_, committed) = commits(simple, connection, [("", -1)])
        assert committed.topics[0].partitions[0].error_code == 0
        mixed, classic, static = (
            stack.enter_context(closing(Group(address, name, names)))
            for name in ("mixed", "classic", "static")
        )
        first = mixed.first()
        mixed.consumers.join("m")
        settled = mixed.settle(first)
        assert [kind for kind, *_ in settled["members"]] == [0, 1]
        classic.first().commit(9)
        static.first("instance")
    return list(groups.values())


def printed(address: str, folder: Path) -> dict[str, list[str]]:
    """What Kafka's own tool says of all groups; lines in an order of their own."""
    stage = Stage(address, folder)

    def answered(question: str) -> list[str]:
        command = f"kafka-consumer-groups --bootstrap-server BROKER {question}"
        return sorted(stage.play(Step(command=command)))

    with ThreadPoolExecutor() as pool:
        return dict(zip(QUESTIONS, pool.map(answered, QUESTIONS), strict=True))


def test_groups_go_to_the_real_kafka_and_back(
    tmp_path: Path,
    start_kafkalite: Callable[..., KafkaliteProcess],
    start_kafka: Callable[..., RealKafka],
) -> None:
    data = tmp_path / "logs"
    ours = start_kafkalite(data, settings=SETTINGS)
    groups = fill(ours.address)
    before = groups_at(ours.address, groups)
    assert ours.stop() == 0
    theirs = start_kafka(tmp_path, settings=SETTINGS)
    assert groups_at(theirs.address, groups) == before
    groups += fill(theirs.address)
    grown, said = groups_at(theirs.address, groups), printed(theirs.address, tmp_path)
    theirs.end("stopped")
    again = start_kafkalite(data, settings=SETTINGS)
    assert (groups_at(again.address, groups), printed(again.address, tmp_path)) == (grown, said)
    assert theirs.complaints() == []
    listed, offsets, members, _ = said.values()
    assert sorted(" ".join(line.split()[2:]) for line in listed) == sorted(
        [
            "TYPE STATE",
            *2 * ["Consumer Reconciling", "Consumer Stable", "Classic Empty"],
            *4 * ["Classic Stable"],
        ]
    )
    assert sum("/127.0.0.1" in line for line in members) == 2 * (3 + 2 + 1 + 1)
    assert sum(" 0 - 5 0 -5 " in line for line in offsets) == 2 * len(["classic", "simple"])

"""Plays `tests/scenarios/consumer_groups/*.txt`: one group, called g, of the consumer protocol or
on its way to it and back. All commands of `test_group_scenarios.py`, and these:

topics NAME:PARTITIONS...     the cluster has these from now on
consume NAME [topics=t,u] [regex=] [instance=] [assignor=]     a member joins, by that member id
beat NAME     it does what it was told, says what it owns, and goes on in its epoch
quiet NAME     it goes on, and says nothing of what it owns
quit NAME     it leaves     away NAME     it will be back
classic NAME [instance=] [topics=]     a member of the classic protocol joins, by the id that it has
classic-sync NAME [assign=NAME:PARTITION+PARTITION,...]

Partitions are those of the first topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.coordinator.groups.classic.embedded import (
    read_assignment,
    read_subscription,
    write_assignment,
)
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    JoinedMember,
    JoinGroup,
    MemberAssignment,
    SyncGroup,
)
from kafkalite.coordinator.groups.consumer.events import (
    ConsumerHeartbeat,
    ConsumerHeartbeatSeen,
    DescribeConsumerGroups,
    DescribedPartitions,
    MetadataChanged,
)
from kafkalite.coordinator.groups.events import Event
from kafkalite.types import Uuid
from tests.coordinator.sample_consumers import id_of, image_of
from tests.coordinator.sample_migrations import subscription_bytes
from tests.scenarios.test_group_scenarios import Stage, recorded
from tests.scenarios.transcript import Command, check

FOLDER = Path(__file__).parent / "consumer_groups"
Owned = dict[Uuid, tuple[int, ...]]


class ConsumerStage(Stage):
    """Members of both protocols."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Owned] = {}
        self.instances: dict[str, str] = {}

    def feed(self, event: Event) -> Iterator[str]:
        yield from super().feed(event)
        for why in self.core.take_rebalances():
            yield f"rebalance: {why.reason}"

    def told(self, value: object) -> str:
        if isinstance(value, ConsumerHeartbeatSeen):
            self.hear(value)
        if isinstance(value, JoinedMember):
            return f"{value.member_id}: {read_subscription(value.metadata).topics}"
        if isinstance(value, DescribedPartitions):
            return f"{value.topic}: {[*value.partitions]}"
        if isinstance(value, bytes) and value:
            read = read_assignment(value)
            return str({part.topic: part.partitions for part in read.assigned_partitions})
        if isinstance(value, dict):
            names = {id_of(name): name for name in self.counts}
            return str({names[topic]: [*indexes] for topic, indexes in value.items()})
        return super().told(value)

    def hear(self, seen: ConsumerHeartbeatSeen) -> None:
        self.epochs[seen.member_id] = seen.member_epoch
        if seen.assigned is not None:
            self.owned[seen.member_id] = dict(seen.assigned)

    def do_topics(self, command: Command) -> Iterator[str]:
        pairs = (word.split(":") for word in command.words)
        self.counts = {name: int(count) for name, count in pairs}
        yield from self.feed(MetadataChanged(image_of(self.counts)))

    def do_reload(self, command: Command) -> Iterator[str]:
        yield from super().do_reload(command)
        yield from self.feed(MetadataChanged(image_of(self.counts)))

    def do_consume(self, command: Command) -> Iterator[str]:
        (name,), given = command.words, command.options
        topics = tuple(given["topics"].split(",")) if "topics" in given else None
        if "instance" in given:
            self.instances[name] = given["instance"]
        whole = self.beat_event(name, 0)._replace(
            topics=topics,
            regex=given.get("regex"),
            assignor=given.get("assignor"),
            rebalance_timeout_ms=30_000,
            owned={},
        )
        yield from self.feed(whole)

    def do_beat(self, command: Command) -> Iterator[str]:
        (name,) = command.words
        owned = {topic: frozenset(indexes) for topic, indexes in self.owned[name].items()}
        yield from self.feed(self.beat_event(name, self.epochs[name])._replace(owned=owned))

    def do_quiet(self, command: Command) -> Iterator[str]:
        (name,) = command.words
        yield from self.feed(self.beat_event(name, self.epochs[name]))

    def do_quit(self, command: Command) -> Iterator[str]:
        yield from self.feed(self.beat_event(command.words[0], -1))

    def do_away(self, command: Command) -> Iterator[str]:
        yield from self.feed(self.beat_event(command.words[0], -2))

    def do_describe_consumers(self, command: Command) -> Iterator[str]:
        yield from self.feed(DescribeConsumerGroups(self.token("admin"), ("g",)))

    def beat_event(self, name: str, epoch: int) -> ConsumerHeartbeat:
        return ConsumerHeartbeat(
            self.token(name),
            "g",
            name,
            epoch,
            self.instances.get(name),
            None,
            -1,
            None,
            None,
            None,
            None,
            name,
            "/127.0.0.1",
            "drawn",
        )

    def do_classic(self, command: Command) -> Iterator[str]:
        name, given = command.words[0], command.options
        self.ids.setdefault(name, "")
        metadata = subscription_bytes(given.get("topics", "t").split(","), {})
        token = self.token(name)
        yield from self.feed(
            JoinGroup(
                token,
                "g",
                self.ids[name],
                given.get("instance"),
                "consumer",
                (GroupProtocol("range", metadata),),
                10_000,
                30_000,
                name,
                "/127.0.0.1",
                str(token[1]),
                requires_known_member_id=False,
                new_member_id=f"id-of-{name}",
            )
        )

    def do_classic_sync(self, command: Command) -> Iterator[str]:
        name = command.words[0]
        pairs = (pair.split(":") for pair in command.options.get("assign", "").split(",") if pair)
        topic = next(iter(self.counts))
        given = tuple(
            MemberAssignment(
                self.ids[who],
                write_assignment({topic: [int(each) for each in part.split("+") if each]}, 3),
            )
            for who, part in pairs
        )
        event = SyncGroup(
            self.token(name),
            "g",
            self.generation(name, command),
            self.ids[name],
            command.options.get("instance"),
            assignments=given,
        )
        yield from self.feed(event)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, rewrite: bool) -> None:
    stage = ConsumerStage()
    check(path, stage.run, rewrite=rewrite)
    loaded = stage.loaded()
    assert recorded(loaded) == recorded(stage.core)
    assert loaded.recorded.consumer_groups == stage.core.recorded.consumer_groups


def test_there_are_scenarios() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 7

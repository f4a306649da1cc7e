"""Plays `tests/scenarios/groups/*.txt`: one group, called g.

settings [delay=] [max=] [retention=]           before anything else
join NAME [id=] [instance=] [protocols=a,b] [type=] [session=] [rebalance=] [first=no] [skip=no]
sync NAME [gen=] [assign=NAME:TEXT,...] [protocol=] [type=]     heartbeat NAME [gen=]
leave NAME... [instances=i,j]
commit [NAME] [gen=] offsets=TOPIC:OFFSET,... [metadata=BYTES] [retention=]     fetch
delete-offsets TOPIC...     delete-topics TOPIC...     delete-group
list [states=] [types=]     describe     advance MS     reload

NAME is a client; it uses the member id and the generation that it was last told, unless others are
given. Replies say whom they are for. After each scenario a core that has read the log alone must
have recorded the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path

import pytest

from kafkalite.coordinator.groups.administration_events import (
    DeleteGroups,
    DescribeGroups,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    Heartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    Loaded,
    MemberAssignment,
    SyncGroup,
)
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import Record, decode_record, encode_record
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    DeleteOffsets,
    FetchOffsets,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import CancelTimer, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Offset, TimestampMs
from tests.scenarios.transcript import Command, check, shown

FOLDER = Path(__file__).parent / "groups"


class Stage:
    """A coordinator, its log, its timers and the time; and clients."""

    def __init__(self) -> None:
        self.settings = GroupSettings()
        self.core = GroupCoordinator(self.settings)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now = 0
        self.timers: dict[Hashable, SetTimer[Event]] = {}
        self.ids: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.tokens = 0

    def run(self, command: Command) -> Iterator[str]:
        yield from getattr(self, "do_" + command.verb.replace("-", "_"))(command)

    def token(self, name: str) -> tuple[str, int]:
        self.tokens += 1
        return (name, self.tokens)

    def feed(self, event: Event) -> Iterator[str]:
        try:
            outcome = self.core.decide(event, TimestampMs(self.now))
        except KafkaError as error:
            yield f"refused {error.code.name}"
            return
        for record in outcome.records:
            assert isinstance(record, Record), "no transaction ends in a scenario"
            value = "tombstone" if record.value is None else shown(record.value)
            yield f"record {shown(record.key)}: {value}"
            stored = encode_record(record)
            self.log.append(stored)
            self.core.apply(decode_record(*stored))
        for reply in outcome.replies:
            assert isinstance(reply.token, tuple)
            name = str(reply.token[0])
            if isinstance(reply.body, Joined) and name in self.ids:
                lost = reply.body.code is ErrorCode.UNKNOWN_MEMBER_ID
                self.ids[name] = "" if lost else reply.body.member_id or self.ids[name]
                self.generations[name] = reply.body.generation
            yield f"reply to {name}: {self.told(reply.body)}"
        for timer in outcome.timers:
            before = self.timers.pop(timer.key, None)
            if not isinstance(timer, CancelTimer):
                self.timers[timer.key] = timer
                yield f"timer {shown(timer.key)} at={timer.at_ms}"
            elif before is not None:
                yield f"cancel {shown(timer.key)}"

    def told(self, value: object) -> str:
        """A reply without the fields that have their defaults."""
        match value:
            case list() | tuple() if not hasattr(value, "_fields"):
                return "[" + ", ".join(map(self.told, value)) + "]"
            case tuple():
                defaults = getattr(type(value), "_field_defaults", {})
                names = getattr(type(value), "_fields", ())
                pairs = [
                    f"{name}={self.told(item)}"
                    for name, item in zip(names, value, strict=True)
                    if name not in defaults or defaults[name] != item
                ]
                return " ".join([type(value).__name__, *pairs])
            case bytes():
                return repr(value.decode())
            case _:
                return shown(value)

    def loaded(self) -> GroupCoordinator:
        """A core that knows the log alone."""
        core = GroupCoordinator(self.settings)
        for stored in self.log:
            core.apply(decode_record(*stored))
        return core

    def do_settings(self, command: Command) -> Iterator[str]:
        given = command.options
        self.settings = GroupSettings(
            initial_rebalance_delay_ms=int(given.get("delay", 0)),
            max_size=int(given.get("max", 1000)),
            offsets_retention_ms=int(given.get("retention", 100_000)),
            offsets_retention_check_interval_ms=50_000,
        )
        self.core = GroupCoordinator(self.settings)
        yield from self.feed(Loaded())

    def do_join(self, command: Command) -> Iterator[str]:
        name, given = command.words[0], command.options
        self.ids.setdefault(name, "")
        protocols = given.get("protocols", "range").split(",")
        token = self.token(name)
        yield from self.feed(
            JoinGroup(
                token,
                "g",
                given.get("id", self.ids[name]),
                given.get("instance"),
                given.get("type", "consumer"),
                tuple(GroupProtocol(p, f"{name}'s {p}".encode()) for p in protocols if p),
                int(given.get("session", 10_000)),
                int(given["rebalance"]) if "rebalance" in given else 30_000,
                name,
                "/127.0.0.1",
                str(token[1]),
                requires_known_member_id="first" not in given,
                supports_skipping_assignment="skip" not in given,
            )
        )

    def do_sync(self, command: Command) -> Iterator[str]:
        name, given = command.words[0], command.options
        pairs = (pair.split(":") for pair in given.get("assign", "").split(",") if pair)
        yield from self.feed(
            SyncGroup(
                self.token(name),
                "g",
                self.generation(name, command),
                self.ids.get(name, name),
                given.get("instance"),
                given.get("type"),
                given.get("protocol"),
                tuple(MemberAssignment(self.ids[who], text.encode()) for who, text in pairs),
            )
        )

    def generation(self, name: str, command: Command) -> int:
        return int(command.options.get("gen", self.generations.get(name, -1)))

    def do_heartbeat(self, command: Command) -> Iterator[str]:
        name = command.words[0]
        generation = self.generation(name, command)
        id = self.ids.get(name, name)
        instance = command.options.get("instance")
        yield from self.feed(Heartbeat(self.token(name), "g", generation, id, instance))

    def do_leave(self, command: Command) -> Iterator[str]:
        named = [LeavingMember(self.ids.get(name, name)) for name in command.words]
        instances = command.options.get("instances", "").split(",")
        by_instance = [LeavingMember("", instance) for instance in instances if instance]
        yield from self.feed(LeaveGroup(self.token("leaver"), "g", (*named, *by_instance)))

    def do_commit(self, command: Command) -> Iterator[str]:
        name = command.words[0] if command.words else ""
        pairs = (pair.split(":") for pair in command.options["offsets"].split(","))
        metadata = "m" * int(command.options.get("metadata", 0))
        yield from self.feed(
            CommitOffsets(
                self.token(name or "committer"),
                "g",
                self.generation(name, command),
                self.ids.get(name, name),
                None,
                tuple(
                    OffsetToCommit(topic, 0, Offset(int(offset)), metadata=metadata)
                    for topic, offset in pairs
                ),
                int(command.options.get("retention", -1)),
            )
        )

    def do_fetch(self, command: Command) -> Iterator[str]:
        yield from self.feed(FetchOffsets(self.token("reader"), "g", None))

    def do_delete_offsets(self, command: Command) -> Iterator[str]:
        topics = tuple(TopicPartitions(topic, (0,)) for topic in command.words)
        yield from self.feed(DeleteOffsets(self.token("admin"), "g", topics))

    def do_delete_topics(self, command: Command) -> Iterator[str]:
        yield from self.feed(TopicsDeleted(tuple(command.words)))

    def do_delete_group(self, command: Command) -> Iterator[str]:
        yield from self.feed(DeleteGroups(self.token("admin"), ("g",)))

    def do_list(self, command: Command) -> Iterator[str]:
        states = tuple(word for word in command.options.get("states", "").split(",") if word)
        types = tuple(word for word in command.options.get("types", "").split(",") if word)
        yield from self.feed(ListGroups(self.token("admin"), states, types))

    def do_describe(self, command: Command) -> Iterator[str]:
        yield from self.feed(DescribeGroups(self.token("admin"), ("g",)))

    def do_advance(self, command: Command) -> Iterator[str]:
        end = self.now + int(command.words[0])
        while due := [timer for timer in self.timers.values() if timer.at_ms <= end]:
            first = min(due, key=lambda timer: timer.at_ms)
            del self.timers[first.key]
            self.now = first.at_ms
            yield f"{self.now}: {shown(first.event)}"
            yield from self.feed(first.event)
        self.now = end

    def do_reload(self, command: Command) -> Iterator[str]:
        self.core = self.loaded()
        self.timers.clear()
        yield f"{len(self.log)} records"
        yield from self.feed(Loaded())


def recorded(core: GroupCoordinator) -> tuple[object, object]:
    """All that is, with its order."""
    return list(core.recorded.groups.items()), vars(core.recorded.offsets)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, rewrite: bool) -> None:
    stage = Stage()
    check(path, stage.run, rewrite=rewrite)
    assert recorded(stage.loaded()) == recorded(stage.core)


def test_there_are_scenarios() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 7

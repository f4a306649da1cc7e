"""Whether the simulation would notice: the product is broken by hand, and a checker must see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalite.coordinator.groups import commits
from kafkalite.coordinator.groups.classic import membership
from kafkalite.coordinator.groups.classic.embedded import read_assignment, write_assignment
from kafkalite.coordinator.groups.classic.events import Heartbeat, HeartbeatSeen, SyncGroup
from kafkalite.coordinator.groups.classic.state import ClassicGroup
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.offset_events import CommitOffsets
from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.errors import ErrorCode
from kafkalite.log import opening
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_results import Appended, LogRead
from kafkalite.log.partition_log import PartitionLog
from kafkalite.metadata.changes import Change
from kafkalite.protocol.messages.metadata_records import TopicRecord
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server import partition
from kafkalite.server.producer_ids import OnId, ProducerIds
from kafkalite.stores import metadata_log, replay
from kafkalite.testing.checkers import ViolationError
from kafkalite.types import METADATA_TOPIC_ID, NO_TIMESTAMP, Offset, ProducerId, TimestampMs, Uuid
from tests.simulation.machine import Machine
from tests.simulation.scenario import simulate

MOST_SEEDS = 60
Patch = pytest.MonkeyPatch
Original = Callable[..., Any]  # Any: what is broken is called with whatever the product passes on.


class Every:
    """True each `count`-th time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls = 0

    def __call__(self) -> bool:
        self._calls += 1
        return self._calls % self._count == 0


def loses_an_append(patch: Patch) -> None:
    original: Original = append_as_leader
    now = Every(40)

    def append(log: PartitionLog, records: memoryview, **options: Any) -> Appended:
        if not now():
            appended: Appended = original(log, records, **options)
            return appended
        count = sum(header.records_count for _, header in iter_headers(records))
        last = Offset(log.end_offset + count - 1)
        return Appended(log.end_offset, last, NO_TIMESTAMP, len(records))

    patch.setattr(partition, "append_as_leader", append)


def answers_before_it_writes(patch: Patch) -> None:
    """What it did not write in time dies with it."""
    original = Machine.kill

    def kill(machine: Machine) -> None:
        original(machine)
        machine.disk.crash(lambda path, unsynced: 0 if path.startswith("topic-") else unsynced)

    patch.setattr(Machine, "kill", kill)


def gives_an_id_twice(patch: Patch) -> None:
    patch.setattr(ProducerIds, "next", lambda ids, on_id: give(on_id))

    def give(on_id: OnId) -> None:
        on_id(ProducerId(7))


def skips_an_offset(patch: Patch) -> None:
    original: Original = append_as_leader
    now = Every(40)

    def append(log: PartitionLog, records: memoryview, **options: Any) -> Appended:
        if now():
            log.end_offset = Offset(log.end_offset + 1)
        appended: Appended = original(log, records, **options)
        return appended

    patch.setattr(partition, "append_as_leader", append)


def forgets_producers_in_a_restart(patch: Patch) -> None:
    patch.setattr(opening, "load_producers", lambda log, now: None)


def shows_an_old_high_watermark(patch: Patch) -> None:
    original = PartitionLeader.appended
    late = Every(10)

    def appended(leader: PartitionLeader, end_offset: Offset, now: TimestampMs) -> bool:
        if late():
            leader.end_offset = end_offset
            return False
        return original(leader, end_offset, now)

    patch.setattr(PartitionLeader, "appended", appended)


def changes_what_was_read(patch: Patch) -> None:
    original: Original = PartitionLog.read
    now = Every(20)

    def read(log: PartitionLog, offset: Offset, **options: Any) -> LogRead:
        found: LogRead = original(log, offset, **options)
        if found.part is None or log.folder.topic_id == METADATA_TOPIC_ID or not now():
            return found
        assert isinstance(found.part, memoryview)
        data = bytearray(found.part)
        data[15] ^= 1  # The lowest byte of the first batch's leader epoch, which no CRC covers.
        return LogRead(memoryview(data), found.size_bytes)

    patch.setattr(PartitionLog, "read", read)


def loses_a_topic_in_a_restart(patch: Patch) -> None:
    """And does not notice, as it would after a crash."""
    lost: set[Uuid] = set()

    def is_kept(change: Change) -> bool:
        if isinstance(change, TopicRecord) and change.name == "topic-1":
            lost.add(change.topic_id)
        return getattr(change, "topic_id", None) not in lost

    def losing(original: Original) -> Original:
        return lambda *args: filter(is_kept, original(*args))

    for each in ("changes_in", "read_checkpoint"):  # Of the log, and of snapshots.
        patch.setattr(replay, each, losing(vars(replay)[each]))
    patch.setattr(metadata_log, "refuse_lost_topics", lambda *found: None)


def gives_all_to_everybody(patch: Patch) -> None:
    original = membership._assign

    def assign(draft: Draft, group: ClassicGroup, event: SyncGroup) -> None:
        everything: dict[str, list[int]] = {}
        for each in event.assignments:
            for part in read_assignment(each.assignment).assigned_partitions:
                everything.setdefault(part.topic, []).extend(part.partitions)
        share = write_assignment(everything, 3)
        given = tuple(each._replace(assignment=share) for each in event.assignments)
        original(draft, group, event._replace(assignments=given))

    patch.setattr(membership, "_assign", assign)


def takes_commits_of_anybody(patch: Patch) -> None:
    """As if each came from some member of the present generation; and tells nobody that he is not
    one."""
    original = commits.commit

    def commit(draft: Draft, group: ClassicGroup | None, event: CommitOffsets) -> None:
        if group is not None and group.members:
            member = next(iter(group.members))
            event = event._replace(generation=group.generation, member_id=member)
        original(draft, group, event)

    def heartbeat(draft: Draft, group: ClassicGroup | None, event: Heartbeat) -> None:
        if group is None or event.member_id in group.members:
            beat(draft, group, event)
        else:
            draft.reply(event.token, HeartbeatSeen(ErrorCode.NONE))

    beat = membership.heartbeat
    patch.setattr(commits, "commit", commit)
    patch.setattr("kafkalite.coordinator.groups.classic.coordination.heartbeat", heartbeat)


def loses_a_commit(patch: Patch) -> None:
    original: Original = CommittedOffsets.apply
    now = Every(3)

    def apply(offsets: CommittedOffsets, *args: Any) -> None:
        if not now():
            original(offsets, *args)

    patch.setattr(CommittedOffsets, "apply", apply)


def forgets_commits_in_a_restart(patch: Patch) -> None:
    """Lets them go back to the first one."""
    original: Original = CommittedOffsets.apply

    def apply(offsets: CommittedOffsets, key: Any, value: Any, *args: Any) -> None:
        known = offsets.of_group(key.group)
        if not any((each.topic, each.partition) == (key.topic, key.partition) for each in known):
            original(offsets, key, value, *args)

    patch.setattr(CommittedOffsets, "apply", apply)


CASES: list[tuple[Callable[[Patch], None], set[str]]] = [
    (loses_an_append, {"AcknowledgedRecordsSurvive"}),
    (
        answers_before_it_writes,
        {"AcknowledgedRecordsSurvive", "HighWatermarkNeverFalls", "ReadsAreStable"},
    ),
    (gives_an_id_twice, {"ProducerIdsAreUnique"}),
    (skips_an_offset, {"OffsetsHaveNoHoles"}),
    (forgets_producers_in_a_restart, {"EachRecordInOrder"}),
    (shows_an_old_high_watermark, {"HighWatermarkNeverFalls"}),
    (changes_what_was_read, {"ReadsAreStable"}),
    (loses_a_topic_in_a_restart, {"TopicsStay"}),
    (gives_all_to_everybody, {"EachPartitionHasOneOwner", "NobodyReadsWhatAnotherHolds"}),
    (takes_commits_of_anybody, {"OldGenerationsAreRefused", "CommitsAreKept"}),
    (loses_a_commit, {"CommitsAreKept"}),
    (forgets_commits_in_a_restart, {"CommitsAreKept"}),
]


def violations(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from violations(each)
    else:
        yield error


def who_sees(error: BaseException) -> set[str]:
    """The checkers that raised it."""
    notes = [
        note
        for violation in violations(error)
        if isinstance(violation, ViolationError)
        for note in getattr(violation, "__notes__", ())
    ]
    return {note.removeprefix("seen by ") for note in notes if note.startswith("seen by ")}


@pytest.mark.parametrize(
    ("sabotage", "expected"), CASES, ids=[sabotage.__name__ for sabotage, _ in CASES]
)
def test_a_broken_broker_is_found_out(
    sabotage: Callable[[Patch], None], expected: set[str], monkeypatch: Patch
) -> None:
    sabotage(monkeypatch)
    seen: list[BaseException] = []
    for seed in range(1, MOST_SEEDS + 1):
        try:
            simulate(seed)
        except (ViolationError, ExceptionGroup) as error:
            if who_sees(error) & expected:
                return
            seen.append(error)
    pytest.fail(f"nobody has seen it in {MOST_SEEDS} seeds, but {seen}")

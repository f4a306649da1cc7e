"""`kafkalite groups reset`: where a group goes on to read."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.log_ranges import LogRange, find_topics, log_ranges
from kafkalite.cli.names import GroupName
from kafkalite.cli.output import Column, Output, Row
from kafkalite.cli.patience import when_ready
from kafkalite.cli.positions import AtOffset, parse_position, resolve
from kafkalite.cli.refusals import Refusal

if TYPE_CHECKING:
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

_PLAN = (
    Column("TOPIC", "topic"),
    Column("PARTITION", "partition", is_number=True),
    Column("COMMITTED", "committed_offset", is_number=True),
    Column("NEW", "new_offset", is_number=True, style="bold"),
)

_NUMBERS = re.compile(r"\d{1,10}(,\d{1,10})*", re.ASCII)


def reset(
    group: GroupName,
    /,
    *,
    to: Annotated[str | None, Parameter(metavar="WHERE")] = None,
    shift: int | None = None,
    topic: tuple[str, ...] = (),
    execute: bool = False,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Move what a group has committed. Without --execute it is only shown.

    Args:
        group: which; it must have no members when it is moved
        to: earliest, latest, an offset, or a time: 2026-11-29T18:30, 10m (ago), @MILLISECONDS
        shift: so many records on; back, when negative
        topic: a topic, or some of its partitions, like orders:0,2; may be repeated [default: all
            that the group has committed]
        execute: do it
    """
    if (to is None) == (shift is None):
        raise WrongUseError("say where: either --to WHERE or --shift NUMBER")
    position = None if to is None else parse_position(to, "--to")
    choices = [_parse_choice(text) for text in topic]
    with connection.admin() as admin:
        answer = when_ready(admin, lambda: admin.list_group_offsets(group)[group])
        committed = {partition: known.offset for partition, known in answer.items()}
        ranges = _ranges(admin, choices, committed)
        if not ranges:
            raise CommandError(f"{group} has committed nothing; say --topic NAME")
        match position:
            case None:
                goals = _within(_shifted(committed, shift or 0, ranges), ranges)
            case AtOffset(offset):
                goals = _within(dict.fromkeys(ranges, offset), ranges)
            case _:
                goals = resolve(admin, position, ranges)
        refusals = _commit(admin, group, goals) if execute else {}
    rows: list[Row] = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "committed_offset": committed.get(partition),
            "new_offset": goal,
            "reset": execute and partition not in refusals,
            "error": refusals[partition].document() if partition in refusals else None,
        }
        for partition, goal in sorted(goals.items())
    ]
    if refusals and not output.json:  # What is not moved has no new place.
        rows = [row for row in rows if row["reset"]]
    if rows:
        output.rows(_PLAN, rows, none="")
    if refusals:
        raise CommandError(*dict.fromkeys(f"{group}: {each}" for each in refusals.values()))
    if not output.json:
        print("Done." if execute else "Nothing is changed yet; --execute does it.")


def _parse_choice(text: str) -> tuple[str, frozenset[int] | None]:
    """A topic, and which of its partitions; None: all."""
    name, colon, numbers = text.partition(":")
    if not name or (colon and not _NUMBERS.fullmatch(numbers)):
        raise WrongUseError(f"--topic {text}: expected NAME or NAME:PARTITIONS, like orders:0,2")
    return name, frozenset(map(int, numbers.split(","))) if colon else None


def _ranges(
    admin: KafkaAdminClient,
    choices: Sequence[tuple[str, frozenset[int] | None]],
    committed: Collection[TopicPartition],
) -> dict[TopicPartition, LogRange]:
    """Of all partitions that are meant: those chosen, else those committed that are still there."""
    if not choices:
        topics = admin.describe_topics(sorted({partition.topic for partition in committed}))
        known = log_ranges(admin, [topic for topic in topics if not topic["error_code"]])
        return {each: known[each] for each in committed if each in known}
    known = log_ranges(admin, find_topics(admin, [name for name, _ in choices]))
    meant: dict[TopicPartition, LogRange] = {}
    for name, numbers in choices:
        of_topic = {each.partition: each for each in known if each.topic == name}
        for number in of_topic if numbers is None else sorted(numbers):
            if number not in of_topic:
                raise CommandError(f"{name} has no partition {number}, or nobody leads it")
            meant[of_topic[number]] = known[of_topic[number]]
    return meant


def _shifted(
    committed: Mapping[TopicPartition, int], by: int, ranges: Mapping[TopicPartition, LogRange]
) -> dict[TopicPartition, int]:
    missing = [each for each in ranges if each not in committed]
    if missing:
        raise CommandError(
            f"nothing is committed in partition {missing[0].partition} of {missing[0].topic}: "
            "it cannot be shifted; use --to"
        )
    return {each: committed[each] + by for each in ranges}


def _within(
    asked: Mapping[TopicPartition, int], ranges: Mapping[TopicPartition, LogRange]
) -> dict[TopicPartition, int]:
    """As near as the logs allow, and a line on stderr for each that goes elsewhere than asked."""
    goals = {each: ranges[each].nearest(offset) for each, offset in asked.items()}
    for each, offset in sorted(asked.items()):
        log = ranges[each]
        if goals[each] != offset:
            print(
                f"kafkalite: {each.topic}, partition {each.partition}: the log has offsets from"
                f" {log.start_offset} to {log.end_offset}, not {offset}; {goals[each]} is taken",
                file=sys.stderr,
            )
    return goals


def _commit(
    admin: KafkaAdminClient, group: str, goals: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Refusal]:
    """What was refused."""
    from kafka.structs import OffsetAndMetadata

    offsets = {each: OffsetAndMetadata(offset, "", -1) for each, offset in goals.items()}

    def commit() -> dict[TopicPartition, Refusal]:
        answer = admin.alter_group_offsets(group, offsets)
        return {each: Refusal(error.errno) for each, error in answer.items() if error.errno}

    return when_ready(admin, commit, lambda refused: next((r.code for r in refused.values()), 0))

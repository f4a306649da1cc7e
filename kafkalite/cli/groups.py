"""`kafkalite groups`: list, describe, delete and reset consumer groups."""

from __future__ import annotations

from datetime import UTC, datetime

from cyclopts import App

from kafkalite.cli.connection import Connection
from kafkalite.cli.group_reset import reset
from kafkalite.cli.group_views import GroupView, Member, Progress, look_at_groups
from kafkalite.cli.names import GroupNames
from kafkalite.cli.output import (
    Column,
    Output,
    Result,
    Row,
    counted,
    print_heading,
    print_json,
    print_table,
)
from kafkalite.cli.panels import CLUSTER, OPTIONS
from kafkalite.cli.patience import each_when_ready
from kafkalite.cli.refusals import Refusal

groups = App(
    name="groups",
    help="List, describe, delete and reset consumer groups.",
    group=CLUSTER,
    group_parameters=OPTIONS,
    sort_key=4,
)
groups.command(reset)

_LISTED = (
    Column("GROUP", "group", style="bold"),
    Column("STATE", "state"),
    Column("TYPE", "type"),
    Column("MEMBERS", "member_count", is_number=True),
    Column("LAG", "lag", is_number=True),
)
_PROGRESS = (
    Column("TOPIC", "topic"),
    Column("PARTITION", "partition", is_number=True),
    Column("COMMITTED", "committed_offset", is_number=True),
    Column("END", "end_offset", is_number=True),
    Column("LAG", "lag", is_number=True),
    Column("CLIENT", "client_id"),
    Column("HOST", "host", style="dim"),
)


@groups.command(name="list")
def list_groups(*, connection: Connection = Connection(), output: Output = Output()) -> None:
    """List groups, with the records that each has still to read."""
    with connection.admin() as admin:
        found = look_at_groups(admin)
    rows = [
        {
            "group": group.name,
            "state": group.state,
            "type": group.kind,
            "member_count": None if group.members is None else len(group.members),
            "lag": group.lag,
        }
        for group in found
    ]
    output.rows(_LISTED, rows, none="There are no groups.")


@groups.command
def describe(
    names: GroupNames, /, *, connection: Connection = Connection(), output: Output = Output()
) -> None:
    """Show groups: their members, and how far they are in each partition.

    Args:
        names: which
    """
    with connection.admin() as admin:
        found = look_at_groups(admin, names)
    if output.json:
        print_json([_document(group) for group in found])
        return
    for number, group in enumerate(found):
        if number:
            print()
        _print_group(group)


def _document(group: GroupView) -> Row:
    members, last = group.members, group.last_rebalance
    return {
        "group": group.name,
        "state": group.state,
        "type": group.kind,
        "protocol": group.protocol,
        "lag": group.lag,
        "last_rebalance": None if last is None else {"reason": last.reason, "at_ms": last.at_ms},
        "members": None if members is None else [_member(member) for member in members],
        "offsets": [_offset(each) for each in group.progress],
    }


def _member(member: Member) -> Row:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "partitions": [
            {"topic": each.topic, "partition": each.partition} for each in member.partitions
        ],
    }


def _offset(progress: Progress) -> Row:
    member = progress.member
    return {
        "topic": progress.partition.topic,
        "partition": progress.partition.partition,
        "committed_offset": progress.committed_offset,
        "end_offset": progress.end_offset,
        "lag": progress.lag,
        "member_id": None if member is None else member.member_id,
    }


def _print_group(group: GroupView) -> None:
    about = [group.state]
    if group.members is not None:
        about.append(counted(len(group.members), "member"))
    if group.protocol:
        about.append(f"assigned by {group.protocol}")
    if group.lag is not None:
        about.append(f"lag {group.lag}")
    print_heading(group.name, ", ".join(about))
    if group.last_rebalance is not None:
        print(f"last rebalance {_when(group.last_rebalance.at_ms)}: {group.last_rebalance.reason}")
    idle = [member for member in group.members or () if not member.partitions]
    if idle:
        told = ", ".join(f"{member.client_id} at {member.host}" for member in idle)
        print(f"without partitions: {told}")
    rows = [
        {
            **_offset(each),
            "client_id": None if each.member is None else each.member.client_id,
            "host": None if each.member is None else each.member.host,
        }
        for each in group.progress
    ]
    if rows:
        print()
        print_table(_PROGRESS, rows)


def _when(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")


@groups.command
def delete(
    names: GroupNames, /, *, connection: Connection = Connection(), output: Output = Output()
) -> None:
    """Delete groups with all that they have committed.

    Args:
        names: which; they must have no members
    """
    with connection.admin() as admin:
        answer = each_when_ready(admin, names, admin.delete_groups, _code)
    output.results([_deleted(name, _code(said)) for name, said in answer.items()])


def _code(said: str) -> int:
    """`said` is `OK`, or the name of one of kafka-python's errors."""
    from kafka import errors

    return 0 if said == "OK" else int(getattr(errors, said, errors.UnknownError).errno)


def _deleted(name: str, code: int) -> Result:
    refusal = Refusal(code) if code else None
    row = {"group": name, "deleted": refusal is None}
    return Result(name, row, f"deleted {name}", refusal)

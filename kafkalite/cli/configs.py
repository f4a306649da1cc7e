"""`kafkalite configs`: the settings of topics, brokers and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.config_changes import ConfigChanges, ConfigKind, change_configs, configs_of
from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError
from kafkalite.cli.names import ResourceName
from kafkalite.cli.output import Column, Output, Result, Row
from kafkalite.cli.panels import CLUSTER, OPTIONS
from kafkalite.cli.refusals import Refusal
from kafkalite.errors import ErrorCode

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

configs = App(
    name="configs",
    help="Describe, set and delete settings of topics, brokers, groups.",
    group=CLUSTER,
    group_parameters=OPTIONS,
    sort_key=5,
)

_Kind = Annotated[ConfigKind, Parameter(help="of what")]
_Name = Annotated[ResourceName, Parameter(help="a topic, a broker's id, or a group")]
_DESCRIBED = (
    Column("SETTING", "name", style="bold"),
    Column("VALUE", "value"),
    Column("FROM", "from", style="dim"),
)
_SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": "topic",
    "DYNAMIC_GROUP_CONFIG": "group",
    "DYNAMIC_BROKER_CONFIG": "broker",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "all brokers",
    "STATIC_BROKER_CONFIG": "broker's file",
    "DEFAULT_CONFIG": "default",
}
"""Kafka's words, which JSON has, and those for people."""


@configs.command
def describe(
    kind: _Kind,
    name: _Name,
    /,
    *,
    all: bool = False,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Show settings: those that somebody set while the cluster ran, or all that act.

    Args:
        all: those of files and defaults too
    """
    with connection.admin() as admin:
        absence = _absence(admin, kind, name)
        if absence is not None:
            raise CommandError(f"{name}: {absence}")
        (found,) = configs_of(admin, kind, [name], all_of_them=all)
    rows: list[Row] = [
        {
            "name": key,
            "value": answer["value"],
            "source": answer["config_source"],
            "read_only": answer["read_only"],
            "sensitive": answer["is_sensitive"],
        }
        for key, answer in sorted(found.items())
    ]
    if not output.json:
        rows = [_for_people(row) for row in rows]
    output.rows(_DESCRIBED, rows, none=f"Nothing is set for {kind} {name}; --all shows what acts.")


def _for_people(row: Row) -> Row:
    source = str(row["source"])
    value = "(hidden)" if row["sensitive"] else row["value"]
    return {**row, "value": value, "from": _SOURCES.get(source, source)}


@configs.command
def set(
    kind: _Kind,
    name: _Name,
    assignments: list[str],
    /,
    *,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Change settings, all at once or none.

    Args:
        assignments: KEY=VALUE
    """
    _change(kind, name, parse_assignments(assignments), connection, output)


@configs.command
def delete(
    kind: _Kind,
    name: _Name,
    keys: list[str],
    /,
    *,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Let settings have their defaults again, all at once or none.

    Args:
        keys: by Kafka's names; they must be set
    """
    _change(kind, name, dict.fromkeys(keys), connection, output)


def _change(
    kind: ConfigKind,
    name: str,
    changes: ConfigChanges,
    connection: Connection,
    output: Output,
) -> None:
    with connection.admin() as admin:
        refusal = _absence(admin, kind, name) or change_configs(admin, kind, name, changes)
    row = {"kind": kind, "name": name, "changed": refusal is None}
    parts = [
        f"deleted {key}" if value is None else f"set {key}={value}"
        for key, value in changes.items()
    ]
    line = f"{', '.join(parts)} for {kind} {name}"
    output.results([Result(name, row, line, refusal)])


def _absence(admin: KafkaAdminClient, kind: ConfigKind, name: str) -> Refusal | None:
    """None: it is there. Brokers themselves then answer in different ways, or not at all."""
    if kind == "topic":
        (topic,) = admin.describe_topics([name])
        return Refusal(topic["error_code"]) if topic["error_code"] else None
    if kind == "broker":
        ids = sorted(str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"])
        if name not in ids:
            known = f"there is no broker {name}; there is {', '.join(ids)}"
            return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, known)
    return None

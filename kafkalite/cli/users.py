"""`kafkalite users`: who may log in by SCRAM, with which passwords."""

from __future__ import annotations

import sys
from getpass import getpass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.names import UserName
from kafkalite.cli.output import Column, Output, Result, Row
from kafkalite.cli.panels import CLUSTER, OPTIONS
from kafkalite.cli.scram_requests import alter_credential, described_users
from kafkalite.metadata.scram import ScramMechanism
from kafkalite.ports.entropy import RealEntropy
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    ScramCredentialDeletion,
)

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

users = App(
    name="users",
    help="List, add and delete users that log in by SCRAM.",
    group=CLUSTER,
    group_parameters=OPTIONS,
    sort_key=6,
)

_Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
_Name = Annotated[UserName, Parameter(help="of the user")]
_LISTED = (
    Column("USER", "user", style="bold"),
    Column("MECHANISM", "mechanism"),
    Column("ITERATIONS", "iterations", is_number=True),
)
_NONE = (
    "There are no users of SCRAM; `kafkalite users add NAME` adds one. Those of PLAIN stand in the "
    "settings of brokers."
)


@users.command(name="list")
def list_users(*, connection: Connection = Connection(), output: Output = Output()) -> None:
    """List users, and the mechanisms that each can log in by."""
    with connection.admin() as admin:
        found = described_users(admin)
    rows: list[Row] = [
        {
            "user": user,
            "mechanism": ScramMechanism(info.mechanism).mechanism_name,
            "iterations": info.iterations,
        }
        for user, infos in sorted(found.items())
        for info in sorted(infos, key=lambda info: info.mechanism)
    ]
    output.rows(_LISTED, rows, none=_NONE)


@users.command
def add(
    name: _Name,
    /,
    *,
    mechanism: _Mechanism = "SCRAM-SHA-256",
    iterations: int = 4096,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Add a user, or give one another password. It is asked for, or is the first line of standard
    input.

    Args:
        mechanism: that the user logs in by; it has a password of its own
        iterations: of the hash, 4096 to 16384
    """
    from kafkalite.testing.users import upsertion

    chosen = _chosen(mechanism)
    least, most = chosen.min_iterations, chosen.max_iterations
    if not least <= iterations <= most:
        raise WrongUseError(f"--iterations {iterations} is not from {least} to {most}")
    password = _password()
    alteration = upsertion(name, password, chosen, RealEntropy(), iterations)
    with connection.admin() as admin:
        refusal = alter_credential(admin, alteration)
    row = {"user": name, "mechanism": mechanism, "added": refusal is None}
    output.results([Result(name, row, f"added {name} for {mechanism}", refusal)])


@users.command
def delete(
    name: _Name,
    /,
    *,
    mechanism: _Mechanism | None = None,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Delete a user: who is logged in stays so, and cannot log in again.

    Args:
        mechanism: the only one by which the user cannot log in any more
    """
    with connection.admin() as admin:
        wanted = _of_user(admin, name) if mechanism is None else [_chosen(mechanism)]
        results = []
        for each in wanted:  # A user is altered once in a request.
            refusal = alter_credential(admin, ScramCredentialDeletion(name=name, mechanism=each))
            text = each.mechanism_name
            row = {"user": name, "mechanism": text, "deleted": refusal is None}
            results.append(Result(name, row, f"deleted {name} for {text}", refusal))
    output.results(results)


def _chosen(name: str) -> ScramMechanism:
    return next(each for each in ScramMechanism if each.mechanism_name == name)


def _of_user(admin: KafkaAdminClient, name: str) -> list[ScramMechanism]:
    infos = described_users(admin).get(name)
    if infos is None:
        raise CommandError(f"{name}: there is no such user; `kafkalite users list` lists them")
    return sorted(ScramMechanism(info.mechanism) for info in infos)


def _password() -> str:
    is_typed = sys.stdin.isatty()
    password = getpass("Password: ") if is_typed else sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise WrongUseError("there is no password on standard input")
    return password

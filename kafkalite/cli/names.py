"""Names of topics, groups and brokers as arguments: never empty, and offered by the shell on TAB.

The library that asks for what to offer hides what goes wrong: without a broker nothing is offered.
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.completion import CompletionContext

from kafkalite.cli.connection import Connection
from kafkalite.cli.scram_requests import described_users


def _topics(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(
            topic["name"] for topic in admin.describe_topics() if not topic["is_internal"]
        )


def _groups(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(group["group_id"] for group in admin.list_groups())


def _users(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(described_users(admin))


def _resources(context: CompletionContext) -> list[str]:
    """Of the kind that stands before."""
    match context["kind"].value:
        case "topic":
            return _topics(context)
        case "group":
            return _groups(context)
        case _:
            return _brokers(context)


def _brokers(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"])


def _connection(context: CompletionContext) -> Connection:
    """That of the words typed so far."""
    config = context["--command-config"].value
    return Connection(
        bootstrap=str(context["--bootstrap"].value),
        command_config=None if config is None else str(config),
    )


def _is_named(kind: object, value: str | list[str] | None) -> None:
    names = value if isinstance(value, list) else [value]
    if "" in names:
        raise ValueError("the empty text is no name")


TopicName = Annotated[str, Parameter(completer=_topics, validator=_is_named)]
TopicNames = Annotated[list[str], Parameter(completer=_topics, validator=_is_named)]
GroupName = Annotated[str, Parameter(completer=_groups, validator=_is_named)]
GroupNames = Annotated[list[str], Parameter(completer=_groups, validator=_is_named)]
UserName = Annotated[str, Parameter(completer=_users, validator=_is_named)]
ResourceName = Annotated[str, Parameter(completer=_resources, validator=_is_named)]

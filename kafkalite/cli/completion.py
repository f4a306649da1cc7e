"""What a shell offers on TAB that only a broker knows. The library that calls this hides what goes
wrong: without a broker nothing is offered."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.completion import CompletionContext

from kafkalite.cli.connection import Connection


def _connection(context: CompletionContext) -> Connection:
    """That of the words typed so far."""
    return Connection(bootstrap=str(context["--bootstrap"].value))


def _topics(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(
            topic["name"] for topic in admin.describe_topics() if not topic["is_internal"]
        )


def _groups(context: CompletionContext) -> list[str]:
    with _connection(context).admin() as admin:
        return sorted(group["group_id"] for group in admin.list_groups())


TopicName = Annotated[str, Parameter(completer=_topics)]
TopicNames = Annotated[list[str], Parameter(completer=_topics)]
GroupName = Annotated[str, Parameter(completer=_groups)]
GroupNames = Annotated[list[str], Parameter(completer=_groups)]

"""What AlterConfigs and IncrementalAlterConfigs share: the controller decides, and each resource is
answered for itself. Their messages have the same fields under two names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafkalite.controller.events import AlterConfigs, ConfigsAltered, ResourceEdits
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages import alter_configs, incremental_alter_configs
from kafkalite.protocol.schema import Response
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

A = TypeVar(
    "A",
    alter_configs.AlterConfigsResourceResponse,
    incremental_alter_configs.AlterConfigsResourceResponse,
)
"""The answer of one resource."""
Resource = alter_configs.AlterConfigsResource | incremental_alter_configs.AlterConfigsResource


def alter(
    ctx: RequestContext,
    resources: Iterable[ResourceEdits],
    kind: type[A],
    respond: Callable[[list[A]], Response],
    refuse: Callable[[ErrorCode, str], Response],
    *,
    replaces_all: bool,
    validate_only: bool,
) -> Parked:
    """Ask the controller, and wait for it: until every live broker follows the new settings."""

    def answer(altered: ConfigsAltered) -> Response:
        return respond(_told(kind, altered))

    services = ctx.services
    parked, on_reply = parked_answer(services, answer=answer, refuse=refuse)
    event = AlterConfigs(
        token=None,
        resources=tuple(resources),
        asked=ctx.asked,
        # Another broker's file is not known here: what is in it is not held against the change.
        own_settings=services.config.settings if ctx.asked == services.broker_id else {},
        replaces_all=replaces_all,
        validate_only=validate_only,
    )
    services.controller.submit(event, on_reply)
    return parked


def refused(kind: type[A], resources: Iterable[Resource], code: ErrorCode, message: str) -> list[A]:
    """The same code for every resource."""
    return [
        kind(
            error_code=code,
            error_message=message or None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource in resources
    ]


def _told(kind: type[A], altered: ConfigsAltered) -> list[A]:
    return [
        kind(
            error_code=each.code,
            error_message=each.message,
            resource_type=each.resource.type,
            resource_name=each.resource.name,
        )
        for each in altered.resources
    ]

"""What the edits of a request make of a resource's settings.

Source: Kafka's `ConfigurationControlManager` and `ConfigAdminManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.controller.events import ConfigEdit, ConfigOperation
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType
from kafkalite.protocol.messages.metadata_records import ConfigRecord


def edited_list(before: str, edit: ConfigEdit) -> str:
    """A list with items appended or taken away. The text is taken apart as it was written: a blank
    after a comma is part of an item."""
    assert edit.value is not None, "checked"
    items = [item for item in before.split(",") if item]
    for item in edit.value.split(","):
        if edit.operation == ConfigOperation.SUBTRACT:
            items = [kept for kept in items if kept != item]
        elif item not in items:
            items.append(item)
    return ",".join(items)


def config_records(resource: ConfigResource, values: Mapping[str, str | None]) -> list[Change]:
    """Records that set these on a resource; None takes a setting away."""
    type = ConfigResourceType(resource.type)
    return [
        ConfigRecord(resource_type=type, resource_name=resource.name, name=key, value=value)
        for key, value in values.items()
    ]


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Settings that are another than before; None: it goes."""
    changed: dict[str, str | None] = {
        name: value for name, value in after.items() if before.get(name) != value
    }
    changed.update(dict.fromkeys(name for name in before if name not in after))
    return changed

"""Settings of single groups: what consumer groups go by instead of the broker's `group.consumer.`
defaults.

Kafka differs: settings of share and streams groups can be altered there too; here that is refused,
with a message that says so.

Source: Kafka's `GroupConfig.validate`; the words were asked of the real broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from kafkalite.config.keys import ConfigKey
from kafkalite.controller.config_edits import changes, config_records
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage

_ACTING: Final = (
    "consumer.assignment.interval.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
)


def alter_group(
    image: MetadataImage,
    wanted: ResourceEdits,
    *,
    own_settings: Mapping[str, str],
    replaces_all: bool,
) -> list[Change]:
    """Records of what changes; `KafkaError` for what Kafka refuses, and for what does nothing here.
    `own_settings`: of the file of the broker that the client asked, whose bounds hold."""
    from kafkalite.config.described_keys import GROUP_KEYS  # Few ask: not at a start.

    if not wanted.resource.name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    before = image.configs.get(wanted.resource, {})
    after = {} if replaces_all else dict(before)
    for edit in wanted.edits:
        key = GROUP_KEYS.get(edit.name)
        if key is None:
            _refuse(f"Unknown group config name: {edit.name}")
        value = _edited(edit, key)
        if value is None:
            after.pop(edit.name, None)
        else:
            after[edit.name] = value
    changed = changes(before, after)
    for name, text in changed.items():
        if text is not None:
            _check(GROUP_KEYS[name], text, own_settings)
    return config_records(wanted.resource, changed)


def _edited(edit: ConfigEdit, key: ConfigKey) -> str | None:
    if edit.operation == ConfigOperation.DELETE:
        return None
    if edit.name not in _ACTING:
        if edit.operation == ConfigOperation.SET:
            key.parse(edit.value or "")
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "kafkalite alters no settings of share and streams groups yet",
        )
    if edit.operation != ConfigOperation.SET:
        verb = ConfigOperation(edit.operation).name
        _refuse(f"Can't {verb} to key {edit.name} because its type is not LIST.")
    return edit.value


def _check(key: ConfigKey, text: str, own_settings: Mapping[str, str]) -> None:
    """The value is a number within the broker's bounds."""
    from kafkalite.config.described_keys import broker_keys

    keys = broker_keys()

    def bound(which: str) -> int:
        name = f"group.{key.name}".replace("consumer.", f"consumer.{which}.", 1)
        value = keys[name].parse(own_settings.get(name, keys[name].default or ""))
        assert isinstance(value, int)
        return value

    value = key._replace(minimum=keys[f"group.{key.name}"].minimum).parse(text)
    assert isinstance(value, int)
    least, most = bound("min"), bound("max")
    if not least <= value <= most:
        _refuse(f"{key.name} must be in the range {least} to {most} inclusive.")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)

"""Settings of topics, groups and subscriptions to client metrics: altering them one by one or all
at once; those of topics on creation too.

A resource is refused for the first thing wrong with it, in this order: values missing, keys given
twice, what `broker_configs.py` and `broker_loggers.py` say of theirs, edits that do not fit their
key, the resource's name, the settings that it would have, a topic's existence. A group or a
subscription need not exist. Each resource stands alone, but one that is named twice is refused each
time, and an operation that there is not, or more records than a request may make, refuses all that
came so far.

Kafka differs: settings of groups act on those of share and streams groups too (KIP-932, KIP-1071),
and subscriptions to client metrics on clients that push them. Here both are checked and kept, and
act on nothing yet.

Source: Kafka's `ConfigAdminManager`, `ConfigurationControlManager` and
`ControllerConfigurationValidator`; order and words were asked of the real broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.config.views import validate_topic_config
from kafkalite.controller.broker_configs import alter_broker
from kafkalite.controller.broker_loggers import check_logger_edits
from kafkalite.controller.config_edits import changes, config_records, edited_list
from kafkalite.controller.eligible_replicas import clearing
from kafkalite.controller.events import (
    AdoptConfigs,
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
    ResourceAltered,
    ResourceEdits,
)
from kafkalite.controller.limits import MAX_RECORDS_PER_REQUEST, TOO_MANY_RECORDS
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.metadata.topic_names import validate_topic_name

_OPERATIONS = frozenset(ConfigOperation)
_OF_THE_CLUSTER = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
)


def new_topic_config(pairs: tuple[tuple[str, str | None], ...]) -> dict[str, str]:
    """Each key once, with its last value. `KafkaError(INVALID_CONFIG)` in Kafka's words."""
    values: dict[str, str] = {}
    nulls = []
    for key, value in pairs:
        if value is None:
            nulls.append(key)
        else:
            values[key] = value
    if nulls:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    if values:  # Thousands of topics may come at once, most without any.
        validate_topic_config(values)
    return values


def topic_config_records(topic: str, values: Mapping[str, str]) -> list[Change]:
    """Records that set these on a topic."""
    return config_records(ConfigResource(ConfigResourceType.TOPIC, topic), values)


def alter_configs(image: MetadataImage, event: AlterConfigs) -> tuple[list[Change], ConfigsAltered]:
    """Records of the settings that change, and an answer for each resource."""
    alteration = _Alteration(image, event)
    alteration.check_each()
    try:
        alteration.alter_kept()
    except KafkaError as error:
        alteration.refuse_kept(error)
    refused = alteration.refused
    answers = tuple(
        ResourceAltered(resource, refused[resource].code, refused[resource].message or None)
        if resource in refused
        else ResourceAltered(resource)
        for resource in (each.resource for each in event.resources)
    )
    records = [*alteration.records, *clearing(image, alteration.records)]
    return [] if event.validate_only else records, ConfigsAltered(answers)


def adopt_configs(image: MetadataImage, event: AdoptConfigs) -> list[Change]:
    """Records of what is other than it was."""
    before = image.configs.get(event.resource, {})
    return config_records(event.resource, changes(before, dict(event.values)))


class _Alteration:
    """One request: what Kafka has the broker check that was asked, and then the controller."""

    def __init__(self, image: MetadataImage, event: AlterConfigs) -> None:
        self._image = image
        self._event = event
        self._kept: list[ResourceEdits] = []
        """What comes to Kafka's controller."""
        self.records: list[Change] = []
        self.refused: dict[ConfigResource, KafkaError] = {}

    def check_each(self) -> None:
        """What can be said of a resource without its settings; those of brokers are altered."""
        given = Counter(each.resource for each in self._event.resources)
        for each in self._event.resources:
            try:
                if given[each.resource] > 1:
                    _refuse("Each resource must appear at most once.")
                _check_edits(each.edits)
                self._alter_of_broker(each)
            except KafkaError as error:
                self.refused[each.resource] = error
            else:
                if each.resource.type != ConfigResourceType.BROKER_LOGGER:
                    self._kept.append(each)

    def _alter_of_broker(self, wanted: ResourceEdits) -> None:
        event = self._event
        match wanted.resource.type:
            case ConfigResourceType.BROKER:
                self.records += alter_broker(
                    self._image,
                    wanted,
                    asked=event.asked,
                    own_settings=event.own_settings,
                    replaces_all=event.replaces_all,
                )
            case ConfigResourceType.BROKER_LOGGER if not event.replaces_all:
                check_logger_edits(wanted, event.asked)
            case type if type not in _OF_THE_CLUSTER:
                _refuse(f"Unknown resource type {int(type)}")

    def alter_kept(self) -> None:
        """Topics, groups and subscriptions. `KafkaError` for what refuses them all, brokers too."""
        event = self._event
        if any(edit.operation not in _OPERATIONS for each in self._kept for edit in each.edits):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        for each in self._kept:
            if each.resource.type not in _OF_THE_CLUSTER:
                continue
            try:
                self.records += _alter(
                    self._image,
                    each,
                    own_settings=event.own_settings,
                    replaces_all=event.replaces_all,
                )
            except KafkaError as error:
                self.refused[each.resource] = error
            if len(self.records) > MAX_RECORDS_PER_REQUEST:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY_RECORDS)

    def refuse_kept(self, error: KafkaError) -> None:
        """Nothing changes: whatever came to the controller has the same answer."""
        self.records = []
        self.refused.update((each.resource, error) for each in self._kept)


def _check_edits(edits: Sequence[ConfigEdit]) -> None:
    if len({edit.name for edit in edits}) < len(edits):
        _refuse("Error due to duplicate config keys")
    nulls = [
        edit.name
        for edit in edits
        if edit.value is None and edit.operation != ConfigOperation.DELETE
    ]
    if nulls:
        _refuse(f"Null value not supported for : {', '.join(nulls)}")


def _alter(
    image: MetadataImage,
    wanted: ResourceEdits,
    *,
    own_settings: Mapping[str, str],
    replaces_all: bool,
) -> list[Change]:
    """`own_settings`: of the file of the broker that is asked."""
    resource = wanted.resource
    keys = TOPIC_KEYS if resource.type == ConfigResourceType.TOPIC else {}
    before = image.configs.get(resource, {})
    after = {} if replaces_all else dict(before)
    for edit in wanted.edits:
        value = _edited(edit, keys.get(edit.name), before.get(edit.name))
        if value is None:
            after.pop(edit.name, None)
        else:
            after[edit.name] = value
    match resource.type:
        case ConfigResourceType.TOPIC:
            _check_topic(image, resource.name, after)
        case ConfigResourceType.GROUP:
            from kafkalite.config.group_configs import validate_group_config  # Few ask.

            if not resource.name:
                _refuse("Default group resources are not allowed.")
            validate_group_config(after, own_settings)
        case _:
            from kafkalite.config.client_metrics import validate_client_metrics  # Few ask.

            if not resource.name:
                _refuse("Subscription name can't be empty")
            validate_client_metrics(after)
    return config_records(resource, changes(before, after))


def _check_topic(image: MetadataImage, topic: str, configs: Mapping[str, str]) -> None:
    if not topic:
        _refuse("Default topic resources are not allowed.")
    validate_topic_name(topic)
    validate_topic_config(configs)
    if topic not in image.topics:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist."
        )


def _edited(edit: ConfigEdit, key: ConfigKey | None, before: str | None) -> str | None:
    """What the setting becomes; None: it goes. Lists of topics alone are edited by items."""
    if edit.operation == ConfigOperation.DELETE:
        return None
    assert edit.value is not None, "checked"
    if edit.operation == ConfigOperation.SET:
        return edit.value
    operation = ConfigOperation(edit.operation)
    if key is None or key.type is not ConfigType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {operation.name} to key {edit.name} because its type is not LIST.",
        )
    default = key.default or ""
    return edited_list(default if before is None else before, edit)


def _refuse(message: str) -> None:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)

"""Settings of topics, brokers and groups: what kafka-python can, in the words of the command
line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from kafkalite.cli.patience import when_ready
from kafkalite.cli.refusals import Refusal
from kafkalite.errors import ErrorCode

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

ConfigKind = Literal["topic", "broker", "group"]
"""What has settings. A broker is named by its id."""
ConfigAnswers = Mapping[str, Mapping[str, Any]]  # `Any`: kafka-python's words of DescribeConfigs.
"""By key."""
ConfigChanges = Mapping[str, str | None]
"""New values by key; None: delete it, so that it has its default again."""


def configs_of(
    admin: KafkaAdminClient, kind: ConfigKind, names: Sequence[str], *, all_of_them: bool
) -> list[ConfigAnswers]:
    """For each name its settings by key, each with `value`, `config_source` and more; without
    `all_of_them` only those that somebody set while the cluster ran: also for the brokers, where a
    topic has them from there."""
    from kafka.admin import ConfigResource

    answer = admin.describe_configs(
        [ConfigResource(kind, name) for name in names],
        config_filter="all" if all_of_them else "modified",
    )
    return [answer[kind][name] for name in names]


def change_configs(
    admin: KafkaAdminClient, kind: ConfigKind, name: str, changes: ConfigChanges
) -> Refusal | None:
    """All at once, or none when it is refused. What is to be deleted must be set, and for this very
    thing: to the broker it is all the same, also when no setting has that name, but a person made a
    mistake. Kafka's `kafka-configs` refuses it too."""
    from kafka.admin import AlterConfigOp, ConfigResource

    to_delete = [key for key, value in changes.items() if value is None]
    if to_delete:
        (found,) = configs_of(admin, kind, [name], all_of_them=False)
        own = f"DYNAMIC_{kind.upper()}_CONFIG"
        missing = [
            key for key in to_delete if key not in found or found[key]["config_source"] != own
        ]
        if missing:
            what = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
            remedy = f"`kafkalite configs describe {kind} {name}` shows what is"
            return Refusal(ErrorCode.INVALID_CONFIG, f"{what}; {remedy}")
    operations = {
        key: (AlterConfigOp.DELETE if value is None else AlterConfigOp.SET, value)
        for key, value in changes.items()
    }

    def change() -> Refusal | None:
        answer = admin.alter_configs(
            [ConfigResource(kind, name, operations)], raise_on_unknown=False, incremental=True
        )
        result = answer[kind][name]
        return None if result == "OK" else Refusal.written(result)

    return when_ready(admin, change, lambda refusal: refusal.code if refusal else 0)

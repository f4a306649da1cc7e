"""Settings of topics, brokers and groups: what kafka-python can, in the words of the command
line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from kafkalite.cli.patience import when_ready
from kafkalite.cli.refusals import Refusal

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

ConfigKind = Literal["topic", "broker", "group"]
"""What has settings. A broker is named by its id."""


def configs_of(
    admin: KafkaAdminClient, kind: ConfigKind, names: Sequence[str], *, all_of_them: bool
) -> list[Mapping[str, Mapping[str, Any]]]:  # `Any`: kafka-python's words for DescribeConfigs.
    """For each name its settings by key, each with `value`, `config_source` and more; without
    `all_of_them` only those that were set for this very thing."""
    from kafka.admin import ConfigResource

    answer = admin.describe_configs(
        [ConfigResource(kind, name) for name in names],
        config_filter="all" if all_of_them else "modified",
    )
    return [answer[kind][name] for name in names]


def change_configs(
    admin: KafkaAdminClient,
    kind: ConfigKind,
    name: str,
    *,
    to_set: Mapping[str, str],
    to_delete: Iterable[str],
) -> Refusal | None:
    """All at once, or none when it is refused."""
    from kafka.admin import AlterConfigOp, ConfigResource

    changes: dict[str, tuple[AlterConfigOp, str | None]] = {
        key: (AlterConfigOp.SET, value) for key, value in to_set.items()
    }
    changes |= dict.fromkeys(to_delete, (AlterConfigOp.DELETE, None))

    def change() -> Refusal | None:
        answer = admin.alter_configs(
            [ConfigResource(kind, name, changes)], raise_on_unknown=False, incremental=True
        )
        result = answer[kind][name]
        return None if result == "OK" else Refusal.written(result)

    return when_ready(admin, change, lambda refusal: refusal.code if refusal else 0)

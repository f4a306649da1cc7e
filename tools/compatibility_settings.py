"""The part of the compatibility page about features and settings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from kafkalite.config.definitions import BROKER_KEYS, TOPIC_KEYS
from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.controller.features import FINALIZED, SUPPORTED
from tools.compatibility_facts import MARK, golden, unread
from tools.markdown import paragraph, table, version_range

_DEFAULT_SOURCE = 5
"""DescribeConfigs' number for a value that nobody set."""


def features() -> Iterator[str]:
    """What ApiVersions says of features, there and here."""
    kafkas = golden("api-versions.json")["broker"]["v4"]["features"]
    yield "## Features"
    yield ""
    yield from paragraph(
        "What ApiVersions tells clients of a new cluster: the levels supported, and the finalized"
        " one. A feature is listed here when the code behind it works."
    )
    yield from table(
        ("feature", "Kafka supports", "Kafka finalizes", "kafkalite supports", "finalizes"),
        (
            (
                f"`{name}`",
                version_range(levels["min"], levels["max"]),
                str(kafkas["finalized"].get(name, "-")),
                version_range(*SUPPORTED[name]) if name in FINALIZED else "later",
                str(FINALIZED.get(name, "-")),
            )
            for name, levels in sorted(kafkas["supported"].items())
        ),
    )


def settings() -> Iterator[str]:
    """Which settings are known, have another default, or do nothing yet."""
    described = {row["name"]: row for row in golden("configs.json")["broker"]}
    topics = [row["name"] for row in golden("configs.json")["topic"]]
    yield "## Settings"
    yield ""
    yield from paragraph(
        f"Of Kafka's {len(topics)} topic settings {_count(topics, TOPIC_KEYS)} are known, and"
        f" checked as there. Of its {len(described)} broker settings"
        f" {_count(described, BROKER_KEYS)} are known; the others are taken and have no effect."
    )
    own = [key for name, key in BROKER_KEYS.items() if name not in described]
    differing = [
        (name, _shown(_kafkas_default(described[name])), _shown(BROKER_KEYS[name].default))
        for name in BROKER_KEYS
        if name in described and _kafkas_default(described[name]) != BROKER_KEYS[name].default
    ]
    yield "Defaults that differ, and settings that Kafka does not have:"
    yield ""
    yield from table(
        ("setting", "Kafka's default", "kafkalite's", "what it is"),
        [
            *(
                (f"`{name}`", theirs, ours, BROKER_KEYS[name].doc)
                for name, theirs, ours in differing
            ),
            *((f"`{key.name}`", "-", _shown(key.default), key.doc) for key in own),
        ],
    )
    yield "Known, checked, and without effect until what they govern is there:"
    yield ""
    yield f"- of topics: {_names(unread(TopicConfig._fields), TOPIC_KEYS)}"
    yield f"- of brokers: {_names(unread(BrokerConfig._fields), BROKER_KEYS)}"
    yield ""


def _count(names: Iterable[str], known: Container[str]) -> str:
    names = list(names)
    found = sum(name in known for name in names)
    return "all" if found == len(names) else str(found)


def _doc(name: str) -> str:
    """Without the difference, which has its own place."""
    return BROKER_KEYS[name].doc.partition(MARK)[0].strip()


def _kafkas_default(row: dict[str, object]) -> str | None:
    """What holds where nobody set the setting; None where there is no such value."""
    synonyms = row["synonyms"]
    assert isinstance(synonyms, list)
    for synonym in synonyms:
        if synonym["name"] == row["name"] and synonym["source"] == _DEFAULT_SOURCE:
            default: str | None = synonym["value"]
            return default
    return None


def _shown(value: str | None) -> str:
    return "none" if value is None else f"`{value}`" if value else "empty"


def _names(fields: Iterable[str], keys: Iterable[str]) -> str:
    known = {name.replace(".", "_"): name for name in keys}
    return ", ".join(f"`{known[field]}`" for field in fields if field in known) + "."

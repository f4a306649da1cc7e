"""The part of the compatibility page about features and settings."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.config.described_keys import broker_keys
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.controller.features import FINALIZED, SUPPORTED
from tools.compatibility_facts import golden
from tools.markdown import paragraph, table, version_range


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
    """How many are known; the rest is a page of its own."""
    described = golden("configs.json")
    yield "## Settings"
    yield ""
    for kind, keys in (("topic", TOPIC_KEYS), ("broker", broker_keys())):
        names = [row["name"] for row in described[kind] if row["config_type"]]
        missing = [name for name in names if name not in keys]
        yield from paragraph(
            f"Of Kafka's {len(names)} {kind} settings {len(names) - len(missing)} are known, and"
            " checked as there."
        )
    yield from paragraph(
        "[configuration.md](configuration.md) has them all: what each takes, its default and"
        " Kafka's, and whether it acts."
    )

"""Writes docs/configuration.md: every setting, what it takes, and whether it acts.

    tools/generate_configuration.py [--check]

`--check` writes nothing and fails when the page is old. The settings come from the tables in
`kafkalite/config`, whether they act from the code that reads them, Kafka's defaults from what a
fresh Kafka describes (`tests/data/configs.json`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from kafkalite.config.allowed import allowed
from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.client_metrics import CLIENT_METRICS_KEYS
from kafkalite.config.described_keys import NOT_ACTED_ON, broker_keys
from kafkalite.config.group_keys import GROUP_KEYS
from kafkalite.config.keys import ConfigKey
from kafkalite.config.known import TIERED
from kafkalite.config.topic_keys import TOPIC_KEYS
from tools.compatibility_facts import MARK, ROOT, golden
from tools.configuration_facts import unread_broker_keys, unread_topic_keys
from tools.markdown import paragraph, table

PAGE = ROOT / "docs" / "configuration.md"
_DEFAULT_SOURCE = 5
"""DescribeConfigs' number for a value that nobody set."""
_YES, _NOT_YET, _NO = "yes", "not yet", "no"
_HEAD = ("setting", "type", "default", "allowed", "acts", "what it is")


def page() -> str:
    """The whole file."""
    parts = [*_top(), *_differing_defaults(), *_brokers(), *_topics(), *_others()]
    return "\n".join(parts) + "\n"


def _top() -> Iterator[str]:
    brokers = [name for name in broker_keys() if name in kafkas_defaults()]
    acting = sum(_broker_acts(name) == _YES for name in brokers)
    yield from (
        "<!-- Made by tools/generate_configuration.py (`make docs`); do not edit. -->",
        "# Configuration",
        "",
        "`kafkalite serve` takes Kafka's own settings: from files like server.properties"
        " (`--config FILE`), from the environment as the images apache/kafka,"
        " confluentinc/cp-kafka and bitnami/kafka take it, and from options (`--set KEY=VALUE`)."
        " What is named later here is stronger.",
        "",
        f"All settings of a Kafka 4.4.0 broker are known, with the values that it takes: of the"
        f" {len(brokers)} below {acting} act. *Not yet*: what it governs is still to come, or does"
        " not look at it so far. *No*: taken, checked, and without effect; `serve` names such"
        " settings in one line when it starts. A name that is no setting is a warning, with the"
        " nearest one if any is like it; a value that its key does not take ends the start with"
        " exit code 2.",
        "",
    )


def kafkas_defaults() -> dict[str, str | None]:
    """By broker key, what holds in Kafka where nobody set it; None: nothing."""
    found: dict[str, str | None] = {}
    for row in golden("configs.json")["broker"]:
        found[row["name"]] = None
        for synonym in row["synonyms"]:
            if synonym["name"] == row["name"] and synonym["source"] == _DEFAULT_SOURCE:
                found[row["name"]] = synonym["value"]
    return found


def differing_defaults() -> dict[str, str | None]:
    """By broker key, Kafka's default where ours is another one."""
    return {
        name: default
        for name, default in kafkas_defaults().items()
        if name in BROKER_KEYS and BROKER_KEYS[name].default != default
    }


def _differing_defaults() -> Iterator[str]:
    yield "## Other defaults than Kafka's"
    yield ""
    yield from table(
        ("setting", "Kafka's", "here", "why"),
        (
            (f"`{name}`", _value(default), _value(BROKER_KEYS[name].default), _reason(name))
            for name, default in differing_defaults().items()
        ),
    )
    yield "And settings that Kafka does not have:"
    yield ""
    yield from table(
        ("setting", "default", "allowed", "what it is"),
        (
            (f"`{key.name}`", _value(key.default), allowed(key), key.doc)
            for key in BROKER_KEYS.values()
            if key.name not in kafkas_defaults() and not key.is_internal
        ),
    )


def _reason(name: str) -> str:
    reason = BROKER_KEYS[name].doc.partition(MARK)[2].strip()
    return reason[:1].upper() + reason[1:]


def _brokers() -> Iterator[str]:
    yield "## Brokers"
    yield ""
    kafkas = kafkas_defaults()
    yield from _table(
        (key for name, key in broker_keys().items() if name in kafkas),
        {name: _broker_acts(name) for name in broker_keys()},
    )


def _topics() -> Iterator[str]:
    yield "## Topics"
    yield ""
    yield from paragraph(
        "Set when a topic is created, or altered later. A topic that does not set one has the"
        " broker's setting of another name, or else the default."
    )
    unread = unread_topic_keys()
    keys = [key for key in TOPIC_KEYS.values() if not key.is_internal]
    acts = {key.name: _acts(key.name, unread) for key in keys}
    yield from table(
        (*_HEAD[:-1], "the broker's settings behind it", _HEAD[-1]),
        (
            (*cells[:-1], ", ".join(f"`{each.name}`" for each in key.synonyms) or "-", cells[-1])
            for key in _sorted(keys)
            for cells in [_cells(key, acts[key.name])]
        ),
    )


def _others() -> Iterator[str]:
    for heading, keys in (
        ("Groups", GROUP_KEYS),
        ("Subscriptions to client metrics", CLIENT_METRICS_KEYS),
    ):
        yield f"## {heading}"
        yield ""
        yield from _table(keys.values(), dict.fromkeys(keys, _NO))


def _broker_acts(name: str) -> str:
    if name not in BROKER_KEYS:
        return _NO
    return _acts(name, unread_broker_keys())


def _acts(name: str, unread: frozenset[str]) -> str:
    return _NO if name in TIERED else _NOT_YET if name in unread else _YES


def _table(keys: Iterable[ConfigKey], acts: Mapping[str, str]) -> Iterator[str]:
    yield from table(_HEAD, (_cells(key, acts[key.name]) for key in _sorted(keys)))


def _sorted(keys: Iterable[ConfigKey]) -> list[ConfigKey]:
    return sorted(keys, key=lambda key: key.name)


def _cells(key: ConfigKey, acts: str) -> tuple[str, ...]:
    doc = key.doc.removesuffix(NOT_ACTED_ON).strip()
    return (
        f"`{key.name}`",
        key.type.name.lower(),
        _value(key.default),
        allowed(key),
        acts,
        doc,
    )


def _value(value: str | None) -> str:
    return "none" if value is None else f"`{value}`" if value else "empty"


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Writes docs/configuration.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it is old")
    options = parser.parse_args()
    wanted = page()
    if options.check:
        is_fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted
        print("fresh" if is_fresh else f"{PAGE.relative_to(ROOT)} is old: run `make docs`")
        return 0 if is_fresh else 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

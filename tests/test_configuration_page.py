"""docs/configuration.md is what its generator makes, and tells of every setting and difference."""

from __future__ import annotations

import re

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.described_keys import broker_keys
from kafkalite.config.known import NOT_YET, TIERED
from kafkalite.config.topic_keys import TOPIC_KEYS
from tools.compatibility_facts import MARK, golden
from tools.generate_configuration import PAGE, differing_defaults, page

TEXT = PAGE.read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The cells behind the first, by the setting's name, of the table below a heading."""
    below = TEXT.partition(f"\n## {heading}\n")[2]
    lines = below[below.index("\n|") + 1 :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {first.strip("`"): rest for first, *rest in cells}


def test_the_page_is_fresh() -> None:
    assert page() == TEXT, "run `make docs`"


def test_every_setting_that_kafka_describes_is_on_the_page() -> None:
    described = {row["name"] for row in golden("configs.json")["broker"] if row["config_type"]}
    assert rows("Brokers").keys() == described
    assert rows("Topics").keys() == {row["name"] for row in golden("configs.json")["topic"]}


def test_what_acts_is_what_the_code_says() -> None:
    for name, (_, _, _, acts, _) in rows("Brokers").items():
        assert acts == (
            "no"
            if name not in BROKER_KEYS or name in TIERED
            else "not yet"
            if name in NOT_YET
            else "yes"
        )


def test_each_setting_of_topics_acts_or_stands_there_as_one_that_does_not() -> None:
    acts = {name: cells[3] for name, cells in rows("Topics").items()}
    assert {name for name, each in acts.items() if each == "no"} == TIERED & acts.keys()
    assert {name for name, each in acts.items() if each == "not yet"} == {
        "errors.deadletterqueue.group.enable"
    }


def test_each_default_that_differs_has_its_reason() -> None:
    assert rows("Other defaults than Kafka's").keys() == differing_defaults().keys()
    for name in differing_defaults():
        assert MARK in broker_keys()[name].doc


def test_settings_of_topics_name_those_of_brokers_behind_them() -> None:
    for name, cells in rows("Topics").items():
        assert [each.name for each in TOPIC_KEYS[name].synonyms] == re.findall(r"`(.+?)`", cells[4])

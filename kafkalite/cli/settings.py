"""Where the settings of `serve` come from, put together: files, the environment, `--set`.

What is named later wins: Kafka's defaults, `--config` files in their order, the environment, `--set`.
That is the order of the images whose environment this takes: a variable is stronger than a mounted
file there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class WrongUseError(Exception):
    """One line for a person: which setting is wrong, and what is allowed. The exit code is 2."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was set, and what there is to say about it."""

    values: dict[str, str]
    """By Kafka's key, as text that its key takes. `log.dirs` is in it only if somebody set it (or
    `log.dir`); `listeners` likewise."""
    notes: tuple[str, ...]
    """Lines for stderr, each beginning with `info: ` or `warning: `."""


def gather(
    *, files: Sequence[str], assignments: Sequence[str], environment: Mapping[str, str]
) -> Settings:
    """All sources together.

    `files` are paths of `--config`, `assignments` texts of `--set` (`KEY=VALUE`). `WrongUseError`
    for a file that cannot be read, and for a value that its key does not take.
    """
    values = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise WrongUseError(f"--set {text}: expected KEY=VALUE, such as num.partitions=3")
        values[key] = value
    return Settings(values, ())

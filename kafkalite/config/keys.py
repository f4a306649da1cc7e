"""What one configuration key is, and how the text of a value becomes the value.

Text is read as Kafka's `ConfigDef` reads it, Java's number syntax included, and refused in its
words: clients show these messages to people, and some match on them. The tests hold every answer
against the real broker's (`tests/config/topic-config-answers.jsonl`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, NoReturn

from kafkalite.config.java_numbers import java_integer
from kafkalite.errors import ErrorCode, KafkaError

Value = bool | int | float | str | tuple[str, ...]
"""A parsed value. LIST keys give tuples, without repeats, in the order given."""

_JAVA_DOUBLE = (
    r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?"
    r"|0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?)"
)
_MAX_PORT = 65535
UNIFORM, RANGE = "uniform", "range"
ASSIGNORS = (UNIFORM, RANGE)
"""What `group.consumer.assignors` may name; `coordinator/groups/consumer/targets.py` has them."""
_REPLICA = r"([0-9]+:[0-9]+)?"
_BLANKS = "".join(map(chr, range(0x21)))
"""What Java's `String.trim` takes away."""


class ConfigType(IntEnum):
    """The numbers with which DescribeConfigs names a key's type."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


BOOLEAN, STRING, INT, SHORT = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
)
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
PASSWORD = ConfigType.PASSWORD

MAX_LONG = str(2**63 - 1)

_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


class Synonym(NamedTuple):
    """A broker key that gives a topic key its default; `factor` converts its unit (hours to ms)."""

    name: str
    factor: int = 1


class ConfigKey(NamedTuple):
    """One setting: facts of Kafka 4.4's definition, and what it does here in our words."""

    name: str
    type: ConfigType
    default: str | None
    """As DescribeConfigs shows it; None: not set, another key or nothing decides."""
    doc: str
    minimum: float | None = None
    """Inclusive, like `maximum`."""
    maximum: float | None = None
    also: int | None = None
    """One value outside the range that is taken too."""
    one_of: tuple[str, ...] = ()
    """The values of a STRING key, or of each item of a LIST key."""
    is_case_sensitive: bool = True
    """Of a STRING key: whether a value must be written as in `one_of`."""
    may_be_empty: bool = True
    """Whether a STRING or LIST key takes the empty text."""
    check: Callable[[ConfigKey, tuple[str, ...]], None] | None = None
    """A further test of a LIST key's items; raises as `parse` does."""
    form: str = ""
    """How an item of a LIST key or the value of a STRING key is written, where it is not free."""
    synonyms: tuple[Synonym, ...] = ()
    """Of a topic key: the broker keys behind it, the first that is set wins."""
    is_internal: bool = False
    """Taken, but not listed by DescribeConfigs unless it is set."""
    is_read_only: bool = False
    """Of a broker key, where `described_keys.py` tells it: not to be altered while it runs."""

    def parse(self, text: str) -> Value:
        """The value of `text`; `KafkaError(INVALID_CONFIG)` in Kafka's words when it is none."""
        trimmed = text.strip(_BLANKS)
        match self.type:
            case ConfigType.BOOLEAN:
                return self._parse_boolean(text, trimmed)
            case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
                return self._in_range(self._parse_integer(text, trimmed))
            case ConfigType.DOUBLE:
                return self._in_range(self._parse_double(text, trimmed))
            case ConfigType.LIST:
                return self._parse_list(trimmed)
            case ConfigType.CLASS if not trimmed:
                # Kafka looks every class up; here none is loaded.
                self.refuse(text, f"Class {text} could not be found.")
            case _:
                return self._allowed(trimmed)

    @property
    def is_sensitive(self) -> bool:
        """Whether its value is shown to nobody."""
        return self.type is ConfigType.PASSWORD

    def show(self, text: str) -> str:
        """`text` as DescribeConfigs shows it: parsed, and printed as Java prints it."""
        value = self.parse(text)
        if isinstance(value, tuple):
            return ",".join(value)
        if isinstance(value, bool):
            return str(value).lower()
        return value if isinstance(value, str) else _shown(value)

    def refuse(self, shown: object, why: str) -> NoReturn:
        """Raise the error that says `why` the value, printed as `shown`, is not taken."""
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {shown} for configuration {self.name}: {why}",
        )

    def _parse_boolean(self, text: str, trimmed: str) -> bool:
        match trimmed.lower():
            case "true":
                return True
            case "false":
                return False
            case _:
                self.refuse(text, "Expected value to be either true or false")

    def _parse_integer(self, text: str, trimmed: str) -> int:
        value = java_integer(trimmed, _BITS[self.type])
        if value is None:
            self.refuse(text, f"Not a number of type {self.type.name}")
        return value

    def _parse_double(self, text: str, trimmed: str) -> float:
        if re.fullmatch(_JAVA_DOUBLE, trimmed, re.ASCII) is None:
            self.refuse(text, "Not a number of type DOUBLE")
        if "x" in trimmed.lower():
            try:
                return float.fromhex(trimmed.rstrip("fFdD"))
            except OverflowError:
                return float("-inf" if trimmed.startswith("-") else "inf")
        return float(trimmed if trimmed.endswith("Infinity") else trimmed.rstrip("fFdD"))

    def _in_range(self, value: int | float) -> int | float:
        if self.also is not None:
            assert self.minimum is not None
            assert self.maximum is not None
            if value != self.also and not self.minimum <= value <= self.maximum:
                self.refuse(
                    value,
                    f"Value must be between {self.minimum} and {self.maximum} "
                    f"or equal to {self.also}",
                )
        elif self.minimum is not None and value < self.minimum:
            self.refuse(_shown(value), f"Value must be at least {self.minimum}")
        elif self.maximum is not None and value > self.maximum:
            self.refuse(_shown(value), f"Value must be no more than {self.maximum}")
        return value

    def _parse_list(self, trimmed: str) -> tuple[str, ...]:
        if not trimmed:
            return () if self.may_be_empty else self._refuse_empty_list()
        items = tuple(item.strip(_BLANKS) for item in trimmed.split(","))
        if self.check is not None:
            self.check(self, items)
        for item in items if self.check is None else ():
            if not item:
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG,
                    f"Configuration '{self.name}' values must not be empty.",
                )
            self._allowed(item)
        return tuple(dict.fromkeys(items))

    def _refuse_empty_list(self) -> NoReturn:
        valid = f"[{', '.join(self.one_of)}]" if self.one_of else "any non-empty value"
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Configuration '{self.name}' must not be empty. Valid values include: {valid}",
        )

    def _allowed(self, text: str) -> str:
        if not text and not self.may_be_empty:
            self.refuse(text, "String must be non-empty")
        if not self.one_of or text in self.one_of:
            return text
        choices = ", ".join(self.one_of)
        if self.is_case_sensitive:
            self.refuse(text, f"String must be one of: {choices}")
        if text.upper() not in self.one_of:
            self.refuse(text, f"String must be one of (case insensitive): {choices}")
        return text


def check_replicas(key: ConfigKey, items: tuple[str, ...]) -> None:
    """For the keys that name throttled replicas: `partition:broker` pairs, or `*` alone."""
    if items == ("*",) or all(re.fullmatch(_REPLICA, item) for item in items):
        return
    key.refuse(
        f"[{', '.join(items)}]",
        f"{key.name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def check_assignors(key: ConfigKey, items: tuple[str, ...]) -> None:
    """For the key that names how consumer groups are assigned."""
    for item in items:
        if item not in ASSIGNORS:
            key.refuse(item, "Class cannot be found")


def check_voters(key: ConfigKey, items: tuple[str, ...]) -> None:
    """For a list of `ID@HOST:PORT`."""
    for item in items:
        if re.fullmatch(r"[+-]?[0-9]{1,10}@.*", item, re.ASCII) is None:
            key.refuse(item, "Each entry should be in the form `{id}@{host}:{port}`.")
        _check_host(key, item, item.partition("@")[2])


def check_hosts(key: ConfigKey, items: tuple[str, ...]) -> None:
    """For a list of `HOST:PORT`."""
    for item in items:
        _check_host(key, item, item)


def _check_host(key: ConfigKey, item: str, address: str) -> None:
    match = re.search(r":([0-9]{1,5})$", address, re.ASCII)
    if match is None or int(match[1]) > _MAX_PORT:
        key.refuse(item, f"Each entry ends with a port: {key.form}")


def _shown(value: int | float) -> str:
    """As Java prints it: a double below 0.001 or from 10 million on has an exponent."""
    if isinstance(value, int):
        return str(value)
    magnitude = abs(value)
    if magnitude == float("inf"):
        return "Infinity" if value > 0 else "-Infinity"
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        return repr(value)
    shortest = next(t for p in range(1, 18) if float(t := f"{value:.{p}e}") == value)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}E{int(exponent)}"

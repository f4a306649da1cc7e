"""What a subscription to client metrics may be (KIP-714).

Kafka differs: the patterns that a client must fit are Java's regular expressions there. Here they
are held against Python's, with Java's names for classes of characters: a pattern that is right in
one of them alone is taken, or refused, as Python has it.

Source: Kafka's `ClientMetricsConfigs`; order and words were asked of the real broker.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import NoReturn

from kafkalite.config.described_keys import NOT_ACTED_ON
from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.errors import ErrorCode, KafkaError

CLIENT_METRICS_KEYS = {
    key.name: key
    for key in (
        ConfigKey(
            "interval.ms", ConfigType.INT, "300000", f"How often clients push. {NOT_ACTED_ON}"
        ),
        ConfigKey("match", ConfigType.LIST, "", f"Patterns that a client must fit. {NOT_ACTED_ON}"),
        ConfigKey("metrics", ConfigType.LIST, "", f"How the metrics' names begin. {NOT_ACTED_ON}"),
    )
}
"""By name: what a subscription to client metrics has (KIP-714)."""

_INTERVAL, _MATCH, _METRICS = "interval.ms", "match", "metrics"
_MIN_INTERVAL_MS, _MAX_INTERVAL_MS = 100, 3_600_000
_MATCHED = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
_CLASS = re.compile(r"\\[pP](\{\w+\}|\w)", re.ASCII)
"""A class of characters by its name, which Python does not know: `\\p{Alpha}`."""
_OPEN_COUNT = re.compile(r"(?<!\\)\{\d*$", re.ASCII)
"""To Python a brace that nothing closes is a character like others."""


def validate_client_metrics(values: Mapping[str, str]) -> None:
    """`values`: all that the subscription would have. `KafkaError` for the first thing wrong."""
    for name in values:
        if name not in CLIENT_METRICS_KEYS:
            _refuse(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    parsed = {
        name: CLIENT_METRICS_KEYS[name].parse(values[name])
        for name in (_METRICS, _INTERVAL, _MATCH)
        if name in values
    }
    interval_ms = parsed.get(_INTERVAL, _MAX_INTERVAL_MS)
    assert isinstance(interval_ms, int)
    if not _MIN_INTERVAL_MS <= interval_ms <= _MAX_INTERVAL_MS:
        _refuse(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for {_INTERVAL}, interval must be between"
            f" {_MIN_INTERVAL_MS} and {_MAX_INTERVAL_MS} (1 hour)",
        )
    patterns = parsed.get(_MATCH, ())
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        if not _is_pattern(pattern):
            _refuse(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _is_pattern(text: str) -> bool:
    name, *expressions = text.split("=")
    if name.strip() not in _MATCHED or len(expressions) != 1 or not expressions[0]:
        return False
    expression = expressions[0].strip()
    if _OPEN_COUNT.search(expression):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Nested sets: Java has them.
        try:
            re.compile(_CLASS.sub("x", expression))
        except (re.error, OverflowError, RecursionError):
            return False
    return True


def _refuse(code: ErrorCode, message: str) -> NoReturn:
    raise KafkaError(code, message)

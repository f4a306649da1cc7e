"""What a topic may be called, and the names that belong to the cluster itself.

Source: Kafka's `Topic` and `ControllerApis`; the words were asked of the real broker.
"""

from __future__ import annotations

import re

from kafkalite.errors import ErrorCode, KafkaError

MAX_NAME_LENGTH = 249
"""In UTF-16 units, as Java counts; legal names are ASCII, where it is the same."""

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
"""Marked `is_internal` in Metadata: clients do not write to them, and regex subscriptions pass them
by."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def validate_topic_name(name: str) -> None:
    """Return when a topic may have this name; `KafkaError(INVALID_TOPIC_EXCEPTION)` in Kafka's
    words else."""
    if name == "":
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        problem = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif _LEGAL.fullmatch(name) is None:
        problem = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'"
        )
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def is_legal(name: str) -> bool:
    """Whether `validate_topic_name` takes it."""
    try:
        validate_topic_name(name)
    except KafkaError:
        return False
    return True


def collision_key(name: str) -> str:
    """Equal for two names that would share the name of a metric: there `.` is written as `_`."""
    return name.replace(".", "_")

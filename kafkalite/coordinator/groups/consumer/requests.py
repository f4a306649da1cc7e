"""What a heartbeat must look like, whatever its group is.

Source: Kafka's `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`.
"""

from __future__ import annotations

from typing import NoReturn

from kafkalite.coordinator.groups.consumer.events import ConsumerHeartbeat
from kafkalite.coordinator.groups.consumer.state import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
)
from kafkalite.coordinator.groups.settings import ConsumerSettings
from kafkalite.errors import ErrorCode, KafkaError

_BLANKS = "".join(map(chr, range(0x21)))
"""What Java's `String.trim` takes away."""


def check_heartbeat(event: ConsumerHeartbeat, settings: ConsumerSettings) -> None:
    """`KafkaError`: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR."""
    epoch = event.member_epoch
    if event.must_bring_id or epoch > JOINING_EPOCH or epoch == LEAVING_EPOCH:
        _check_text("MemberId", event.member_id)
    _check_text("GroupId", event.group_id)
    _check_text("InstanceId", event.instance_id)
    _check_text("RackId", event.rack_id)
    if epoch == JOINING_EPOCH:
        _check_first(event)
    elif epoch == STATIC_LEAVING_EPOCH and event.instance_id is None:
        _refuse("InstanceId can't be null.")
    elif epoch < STATIC_LEAVING_EPOCH:
        _refuse("MemberEpoch is invalid.")
    if event.assignor is not None and event.assignor not in settings.assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {event.assignor} is not supported. Supported assignors:"
            f" {', '.join(settings.assignors)}.",
        )


def _check_first(event: ConsumerHeartbeat) -> None:
    if event.rebalance_timeout_ms == -1:
        _refuse("RebalanceTimeoutMs must be provided in first request.")
    if event.owned is None or event.owned:
        _refuse("TopicPartitions must be empty when (re-)joining.")
    if event.topics is None and event.regex is None:
        _refuse(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining."
        )


def _check_text(name: str, text: str | None) -> None:
    if text is not None and not text.strip(_BLANKS):
        _refuse(f"{name} can't be empty.")


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_REQUEST, message)

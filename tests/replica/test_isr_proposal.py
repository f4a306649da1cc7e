"""What the controller's refusals of in-sync replicas mean."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.replica.isr_proposal import Refusal, meaning_of


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (ErrorCode.OPERATION_NOT_ATTEMPTED, Refusal.DROPPED),
        (ErrorCode.INELIGIBLE_REPLICA, Refusal.DROPPED),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Refusal.OUTDATED),
        (ErrorCode.UNKNOWN_TOPIC_ID, Refusal.OUTDATED),
        (ErrorCode.FENCED_LEADER_EPOCH, Refusal.OUTDATED),
        (ErrorCode.INVALID_UPDATE_VERSION, Refusal.OUTDATED),
        (ErrorCode.INVALID_REQUEST, Refusal.OUTDATED),
        (ErrorCode.NEW_LEADER_ELECTED, Refusal.OUTDATED),
        (ErrorCode.NETWORK_EXCEPTION, Refusal.ASKED_AGAIN),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Refusal.ASKED_AGAIN),
    ],
)
def test_a_refusal_says_whether_to_ask_again(code: ErrorCode, meaning: Refusal) -> None:
    assert meaning_of(code) is meaning

"""Records that are to be on the disk first (`flush.messages`): what of the log a leader may let
others see until then, and which producers hear nothing before.

Source: Kafka's `UnifiedLog.append`, which syncs before it returns, and `ReplicaManager`'s
`delayedProduceRequestRequired`.
"""

from __future__ import annotations

from typing import Final

from kafkalite.types import Offset

ACKS_NONE: Final = 0
"""A produce that nobody answers."""
ACKS_ALL: Final = -1
"""One that waits for all replicas that are in sync."""
VALID_ACKS: Final = (ACKS_NONE, 1, ACKS_ALL)


def settled_end(recovery_point: Offset, log_start_offset: Offset, high_watermark: Offset) -> Offset:
    """Where that part of a log whose records are held back ends which a leader may let others see:
    what is on the disk (below `recovery_point`), and what somebody has seen already."""
    return max(recovery_point, log_start_offset, high_watermark)


def is_answered_once_committed(acks: int, *, is_held_back: bool, in_sync: int) -> bool:
    """Whether a produce is answered when its records are committed, and not at once. With acks=1
    it is where they are held back and `in_sync`, the number of replicas in sync, is 1: only this
    one is waited for then."""
    if acks == ACKS_ALL:
        return True
    return acks != ACKS_NONE and is_held_back and in_sync == 1

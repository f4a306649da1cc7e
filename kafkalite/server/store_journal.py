"""The metadata store as the journal of the controller's driver."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.store import CommitResult, Committed, MetadataSession
from kafkalite.types import ControllerEpoch, Offset


class StoreJournal:
    """For one term of the controller: see `Journal`."""

    def __init__(self, session: MetadataSession, epoch: ControllerEpoch) -> None:
        self._session = session
        self._epoch = epoch
        self.on_committed: Callable[[Offset], None] = lambda offset: None

    def append(
        self, records: tuple[Change, ...], on_appended: Callable[[Offset | KafkaError], None]
    ) -> None:
        """See `Journal`. What the store has committed needs no further wait."""

        def done(result: CommitResult) -> None:
            if isinstance(result, Committed):
                self.on_committed(result.end_offset)
                on_appended(result.end_offset)
            else:
                why = f"{result.failure.value} {result.detail}".strip()
                on_appended(
                    KafkaError(ErrorCode.NOT_CONTROLLER, f"the controller lost its term: {why}")
                )

        self._session.commit(self._epoch, records, done)

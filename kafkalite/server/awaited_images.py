"""Answers that wait until this broker has folded what it was told of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.protocol.schema import Response
from kafkalite.server.purgatory import Parked
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.stores.told_states import ToldState

WITHIN_MS: Final = 5_000
"""Then it is answered all the same: what was told may be old news by now."""


class AwaitedImages:
    """Who waits for which image; each for `WITHIN_MS` at most."""

    def __init__(self) -> None:
        self.on_told: Callable[[Sequence[ToldState]], None] = lambda told: None
        """What the controller tells of partitions."""
        self._waiting: dict[Parked, tuple[Callable[[MetadataImage], bool], Callable[[], None]]] = {}

    def apply(self, image: MetadataImage) -> None:
        """This broker has folded it."""
        for parked, (is_there, answer) in list(self._waiting.items()):
            if is_there(image):
                del self._waiting[parked]
                answer()

    def _forget(self, parked: Parked) -> None:
        self._waiting.pop(parked, None)

    def park(
        self,
        clock: Clock,
        image: MetadataImage,
        is_there: Callable[[MetadataImage], bool],
        answer: Callable[[], Response],
    ) -> Parked:
        """`answer` when it is there, at once if it is in `image`, the newest, already."""
        deadline_ms = TimestampMs(clock.now_ms() + WITHIN_MS)
        parked = Parked(clock, deadline_ms, answer, lambda: self._forget(parked))
        if is_there(image):
            parked.complete(answer)
        else:
            self._waiting[parked] = (is_there, lambda: parked.complete(answer))
        return parked

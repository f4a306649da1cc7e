"""The shapes of produces that a broker's clients have sent: see `protocol/produce_shape.py`.

A producer that comes back, and others with the same client id, find the shape there already. All is
bounded: what is too much is forgotten, and looked at anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.protocol.produce_shape import HEAD_BEGINS, ProduceShape, shape_of

if TYPE_CHECKING:
    from kafkalite.protocol.messages.produce import ProduceRequest
    from kafkalite.server.request import Session

MOST_SHAPES: Final = 1024
"""Some 2 KB each."""
MOST_ENDS: Final = 4
"""Of heads, that are looked for in a connection's frames."""
LEARNS_EVERY: Final = 8
"""Of so many requests without a shape one is looked at, which costs a third of a request: where
each has another one, it must cost next to nothing."""


class ProduceShapes:
    """Those of one broker."""

    __slots__ = ("_misses", "_shapes")

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, bytes], ProduceShape] = {}
        """By version and head."""
        self._misses = 0

    def find(self, session: Session, version: int, frame: memoryview) -> ProduceShape | None:
        """The shape whose `head` the frame has."""
        shapes = self._shapes
        for end in session.head_ends:
            shape = shapes.get((version, bytes(frame[HEAD_BEGINS:end])))
            if shape is not None:
                return shape
        return None

    def learn(
        self,
        session: Session,
        request: ProduceRequest,
        version: int,
        client_id: str | None,
        frame: memoryview,
        begin: int,
    ) -> None:
        """A request had no shape that is known. As in `shape_of`."""
        self._misses += 1
        if self._misses % LEARNS_EVERY:
            return
        shape = shape_of(request, version, client_id, frame, begin)
        if shape is None:
            return
        if len(self._shapes) >= MOST_SHAPES:
            self._shapes.clear()
        self._shapes[version, shape.head] = shape
        end = HEAD_BEGINS + len(shape.head)
        if end not in session.head_ends:
            session.head_ends = (end, *session.head_ends[: MOST_ENDS - 1])

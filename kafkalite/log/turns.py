"""Things that are held as long as there is room: what was not used for longest goes first.

Not by the time of each use, which would cost every use something: who was used since it was last
asked is passed over once (the "second chance" of page caches).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol


class Held(Protocol):
    """What can be let go of for another's sake."""

    was_used: bool
    """Set at each use."""

    @property
    def leases(self) -> int:
        """It must stay while there are any."""
        ...

    def let_go(self) -> None:
        """Do without until the next use."""
        ...


class Turns:
    """For the thread of the event loop alone."""

    __slots__ = ("_held", "total")

    def __init__(self) -> None:
        self._held: OrderedDict[Held, int] = OrderedDict()
        """With what each takes, in the order of coming; those used since are passed over once."""
        self.total = 0
        """What all together take."""

    def add(self, held: Held, size: int) -> None:
        """It is here from now on, and takes so much."""
        assert held not in self._held, "it is held once"
        self._held[held] = size
        self.total += size

    def remove(self, held: Held) -> None:
        """It is not here any more, if it was."""
        self.total -= self._held.pop(held, 0)

    def let_one_go(self) -> bool:
        """Have one go that is not in use; False: there is none."""
        queue = self._held
        for _ in range(2 * len(queue)):
            held = next(iter(queue))
            if held.leases or held.was_used:
                held.was_used = False
                queue.move_to_end(held)
            else:
                self.remove(held)
                held.let_go()
                return True
        return False

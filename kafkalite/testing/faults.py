"""Faults by seed. Of the network: delays, lost connections, partitions. Of one process: a clock
that is set, a disk that refuses, a death at any step.

`Weather` is the policy of a memory network. `ProcessClock` and `ProcessFiles` stand between one
process and its ports, so that nothing of it stirs once it is dead.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass

from kafkalite.log.files import Buffer, DiskSpace, File, Files, Lock, Part
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.entropy import Entropy
from kafkalite.types import TimestampMs


@dataclass(frozen=True, slots=True)
class Climate:
    """How bad it may get. Probabilities are per delivery, from 0 to 1."""

    min_delay_ms: int = 0
    max_delay_ms: int = 0
    """Each delivery takes a time between the two, inclusive. Bytes of one direction never
    overtake."""
    drop_probability: float = 0.0
    """A connection is reset instead of delivering."""
    refuse_probability: float = 0.0
    """A dial fails."""


FAIR = Climate()
"""No delay, no faults."""
ROUGH = Climate(min_delay_ms=0, max_delay_ms=50, drop_probability=0.01, refuse_probability=0.02)


class Weather:
    """The policy of a memory network, see `ports.network_memory`. Fair until a test sets a
    `climate`."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._cut: set[frozenset[str]] = set()
        self.climate = FAIR
        self.silent: set[str] = set()
        """Nodes whose bytes are lost: instead of arriving they reset their connections."""

    def partition(self, *sides: set[str]) -> None:
        """Cut every node of one side from every node of the others. Connections stay and deliver
        nothing; dials wait. Adds to earlier partitions."""
        for number, side in enumerate(sides):
            for other in sides[number + 1 :]:
                self._cut |= {frozenset((one, two)) for one in side for two in other}

    def heal(self) -> None:
        """End all partitions. Tell the network too (`MemoryNetwork.deliver_held`)."""
        self._cut.clear()

    def dial_delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        return self._delay_ms(self.climate.refuse_probability)

    def delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        if source in self.silent:
            return None
        return self._delay_ms(self.climate.drop_probability)

    def is_cut(self, source: str, target: str) -> bool:
        """See `Policy`."""
        return frozenset((source, target)) in self._cut

    def _delay_ms(self, failure: float) -> int | None:
        climate = self.climate
        if failure and self._entropy.random() < failure:
            return None
        span_ms = climate.max_delay_ms - climate.min_delay_ms
        return climate.min_delay_ms + int(self._entropy.random() * (span_ms + 1))


class ProcessClock(Clock):
    """The time as one process sees it, over the clock of its world. `jump` sets it, as a person or
    NTP sets a machine's: waits that have begun last as long as they were asked to."""

    def __init__(self, world: Clock) -> None:
        self._world = world
        self._ahead_ms = 0
        self._is_dead = False

    def now_ms(self) -> TimestampMs:
        """See `Clock`."""
        return TimestampMs(self._world.now_ms() + self._ahead_ms)

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        """See `Clock`."""
        return self._world.call_at(
            at_ms - self._ahead_ms, lambda: None if self._is_dead else callback()
        )

    def jump(self, ms: int) -> None:
        """Set the time forward, or back where `ms` is negative."""
        self._ahead_ms += ms

    def die(self) -> None:
        """The process is gone: no timer fires any more."""
        self._is_dead = True


class ProcessFiles:
    """A disk as one process sees it. Until it is dead, see `Files`; after that every call fails and
    changes nothing."""

    def __init__(self, disk: Files, entropy: Entropy, *, on_death: Callable[[], None]) -> None:
        """`on_death` is called in the midst of what the process does, when `die_within` comes
        true."""
        self._disk = disk
        self._entropy = entropy
        self._on_death = on_death
        self._locks: list[Lock] = []
        self._steps_left: int | None = None
        self.is_dead = False
        self.refusal_probability = 0.0
        """How often a change is refused, from 0 to 1. What is refused has changed nothing."""

    def die_within(self, changes: int) -> None:
        """Let the process die at its change of that number from now, counted from 1. Of an append
        a part may be written, of a folder some files may be removed, of anything else nothing."""
        self._steps_left = changes

    def spare(self) -> None:
        """Refuse no change any more, and let the process live."""
        self._steps_left = None
        self.refusal_probability = 0.0

    def die(self) -> None:
        """The process is gone, and its locks with it."""
        self.is_dead = True
        for lock in self._locks:
            lock.release()

    def change(self, torn: Callable[[], None] = lambda: None) -> None:
        """Before each change: let it pass, or fail. `torn` does the part that a death leaves."""
        self.look()
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left <= 0:
                torn()
                self.die()
                self._on_death()
                self.look()
        if self.refusal_probability and self._entropy.random() < self.refusal_probability:
            raise OSError(errno.ENOSPC, "the disk refuses")

    def look(self) -> None:
        """Before everything: the dead see nothing."""
        if self.is_dead:
            raise OSError(errno.ENOSPC, "the process is dead")

    def part_of(self, size: int) -> int:
        """How much of a write a death leaves."""
        return int(self._entropy.random() * (size + 1))

    def open(self, path: str) -> File:
        """See `Files`."""
        if self._disk.exists(path):
            self.look()
        else:
            self.change()
        return _ProcessFile(self, self._disk.open(path))

    def open_read(self, path: str) -> File:
        """See `Files`."""
        self.look()
        return _ProcessFile(self, self._disk.open_read(path))

    def exists(self, path: str) -> bool:
        """See `Files`."""
        self.look()
        return self._disk.exists(path)

    def is_folder(self, path: str) -> bool:
        """See `Files`."""
        self.look()
        return self._disk.is_folder(path)

    def size(self, path: str) -> int:
        """See `Files`."""
        self.look()
        return self._disk.size(path)

    def list(self, path: str) -> list[str]:
        """See `Files`."""
        self.look()
        return self._disk.list(path)

    def apart(self) -> Files:
        """See `Files`."""
        return self

    def space(self) -> DiskSpace:
        """See `Files`."""
        self.look()
        return self._disk.space()

    def make_folder(self, path: str) -> None:
        """See `Files`."""
        if not self._disk.exists(path):
            self.change()
        self._disk.make_folder(path)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """See `Files`."""
        self.change()
        self._disk.replace(path, data, sync=sync)

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        """See `Files`."""
        self.change()
        self._disk.rename(source, target, sync=sync)

    def remove(self, path: str) -> None:
        """See `Files`."""
        self.change()
        self._disk.remove(path)

    def remove_folder(self, path: str) -> None:
        """See `Files`."""
        self.change(lambda: self._remove_some(path))
        self._disk.remove_folder(path)

    def _remove_some(self, path: str) -> None:
        names = self._disk.list(path) if self._disk.is_folder(path) else []
        for name in names[: self.part_of(len(names))]:
            self._disk.remove(f"{path}/{name}")

    def sync_file(self, path: str) -> None:
        """See `Files`."""
        self.change()
        self._disk.sync_file(path)

    def sync_folder(self, path: str) -> None:
        """See `Files`."""
        self.change()
        self._disk.sync_folder(path)

    def lock(self, path: str) -> Lock:
        """See `Files`."""
        self.look()
        lock = self._disk.lock(path)
        self._locks.append(lock)
        return lock


class _ProcessFile:
    """An open file of `ProcessFiles`."""

    __slots__ = ("_file", "_owner")

    def __init__(self, owner: ProcessFiles, file: File) -> None:
        self._owner = owner
        self._file = file

    @property
    def size(self) -> int:
        return self._file.size

    def append(self, data: Buffer) -> None:
        self._owner.change(lambda: self._file.append(data[: self._owner.part_of(len(data))]))
        self._file.append(data)

    def read(self, position: int, size: int) -> bytes:
        self._owner.look()
        return self._file.read(position, size)

    def write_at(self, position: int, data: Buffer) -> None:
        self._owner.change()
        self._file.write_at(position, data)

    def slice(self, position: int, size: int) -> Part:
        self._owner.look()
        return self._file.slice(position, size)

    def truncate(self, size: int) -> None:
        self._owner.change()
        self._file.truncate(size)

    def reserve(self, size: int) -> None:
        self._owner.change()
        self._file.reserve(size)

    def sync(self) -> None:
        self._owner.change()
        self._file.sync()

    def close(self) -> None:
        self._file.close()

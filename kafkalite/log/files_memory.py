"""The Files port in memory: for `--ephemeral`, for tests, and for simulations that crash.

Slices are views of the bytes themselves (memory_bytes.py). What is removed frees its memory once
the last view of it is gone.

With `models_crashes` what was not synced is known: `crash()` puts every file and folder back to
what a disk would hold after a loss of power. That keeps what is removed until its folder is synced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkalite.log.files import Buffer, DiskSpace, Part
from kafkalite.log.memory_bytes import CHUNK_BYTES, MemoryBytes

DISK_BYTES = 1 << 40
"""What memory pretends to be, so that its files can be asked for the space that is left."""


class _Folder:
    """Names now, and the names that a crash leaves."""

    __slots__ = ("durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, MemoryBytes | _Folder] = {}
        self.durable: dict[str, MemoryBytes | _Folder] = {}


class MemoryFile:
    """An open file of `MemoryFiles`. Slices are read-only views, which need no lease."""

    __slots__ = ("_closed", "node")

    def __init__(self, node: MemoryBytes) -> None:
        self.node = node
        """The bytes, which outlive this handle."""
        self._closed = False

    @property
    def size(self) -> int:
        """Bytes written."""
        return self.node.size

    def append(self, data: Buffer) -> None:
        """Write all of it at the end."""
        assert not self._closed, "append to a closed file"
        self.node.append(data)

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`."""
        node = self.node
        return bytes(node.view(position, min(position + size, node.size)))

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes below `size` in place."""
        assert position + len(data) <= self.node.size, "write_at does not lengthen a file"
        self.node.overwrite(position, data)

    def slice(self, position: int, size: int) -> Part:
        """That range."""
        assert 0 <= position <= position + size <= self.node.size, "a slice ends with the file"
        assert not self._closed, "a slice of a closed file"
        return self.node.view(position, position + size)

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes; views of what is cut keep their bytes."""
        assert size <= self.node.size, "truncate does not lengthen a file"
        self.node.truncate(size)

    def reserve(self, size: int) -> None:
        """Nothing: memory is taken when it is written to."""

    def sync(self) -> None:
        """From now on a crash leaves these bytes."""
        self.node.sync()

    def close(self) -> None:
        """Close; may be called twice."""
        self._closed = True


class MemoryLock:
    """A lock of `MemoryFiles`."""

    __slots__ = ("_held", "_path")

    def __init__(self, held: set[str], path: str) -> None:
        self._held: set[str] | None = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        """Let go; a second time does nothing."""
        if self._held is not None:
            self._held.discard(self._path)
            self._held = None


class MemoryFiles:
    """A tree of folders and files in memory; its root exists."""

    def __init__(self, chunk_bytes: int = CHUNK_BYTES, *, models_crashes: bool = False) -> None:
        self._chunk_bytes = chunk_bytes
        self._models_crashes = models_crashes
        self._root = _Folder()
        self._locks: set[str] = set()

    def crash(
        self,
        kept: Callable[[str, int], int] = lambda path, unsynced: 0,
        *,
        zeros: bool = False,
    ) -> None:
        """Lose power: what was not synced is gone, locks are free, open files are dead.

        `kept(path, unsynced)` says how many of a file's unsynced bytes reached the disk after all;
        with `zeros` the length of each file did, and what it lacks reads as zeros.
        """
        assert self._models_crashes, "these files do not know what is durable"
        self._root = _after_crash(self._root, "", kept, zeros=zeros)
        self._locks = set()

    def _find(self, path: str) -> MemoryBytes | _Folder | None:
        found: MemoryBytes | _Folder | None = self._root
        for name in path.split("/") if path else ():
            if not isinstance(found, _Folder):
                return None
            found = found.entries.get(name)
        return found

    def _folder(self, path: str) -> _Folder:
        found = self._find(path)
        if found is None:
            raise FileNotFoundError(2, "no such folder", path)
        if not isinstance(found, _Folder):
            raise NotADirectoryError(20, "not a folder", path)
        return found

    def _file(self, path: str) -> MemoryBytes:
        found = self._find(path)
        if found is None:
            raise FileNotFoundError(2, "no such file", path)
        if not isinstance(found, MemoryBytes):
            raise IsADirectoryError(21, "a folder", path)
        return found

    def open(self, path: str) -> MemoryFile:
        """Open, made when missing."""
        folder, name = self._parent(path)
        node = folder.entries.get(name)
        if node is None:
            node = folder.entries[name] = self._new()
        if not isinstance(node, MemoryBytes):
            raise IsADirectoryError(21, "a folder", path)
        return MemoryFile(node)

    def _new(self, data: bytes = b"") -> MemoryBytes:
        return MemoryBytes(self._chunk_bytes, data, models_crashes=self._models_crashes)

    def _parent(self, path: str) -> tuple[_Folder, str]:
        above, _, name = path.rpartition("/")
        return self._folder(above), name

    def open_read(self, path: str) -> MemoryFile:
        """Open what exists."""
        return MemoryFile(self._file(path))

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return self._find(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        return isinstance(self._find(path), _Folder)

    def size(self, path: str) -> int:
        """Bytes in the file."""
        return self._file(path).size

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        return sorted(self._folder(path).entries)

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it."""
        folder = self._root
        for name in path.split("/") if path else ():
            below = folder.entries.setdefault(name, _Folder())
            if not isinstance(below, _Folder):
                raise FileExistsError(17, "a file is in the way", path)
            folder = below

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """A new file under the name."""
        folder, name = self._parent(path)
        node = self._new(data)
        folder.entries[name] = node
        if sync and self._models_crashes:
            node.sync()
            folder.durable[name] = node

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        """Move; with `sync` a crash leaves the new name."""
        before, old = self._parent(source)
        after, new = self._parent(target)
        if old not in before.entries:
            raise FileNotFoundError(2, "no such file", source)
        moved = before.entries.pop(old)
        after.entries[new] = moved
        if sync and self._models_crashes:
            before.durable.pop(old, None)
            after.durable[new] = moved

    def remove(self, path: str) -> None:
        """Remove a file; until the folder is synced, a crash brings it back."""
        self._file(path)
        folder, name = self._parent(path)
        del folder.entries[name]

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all in it."""
        if self._find(path) is not None:
            folder, name = self._parent(path)
            del folder.entries[name]

    def sync_file(self, path: str) -> None:
        """From now on a crash leaves its bytes."""
        self._file(path).sync()

    def sync_folder(self, path: str) -> None:
        """From now on a crash leaves these names."""
        folder = self._folder(path)
        if self._models_crashes:
            folder.durable = dict(folder.entries)

    def apart(self) -> MemoryFiles:
        """These: they have no descriptors to share."""
        return self

    def space(self) -> DiskSpace:
        """As if of a disk of `DISK_BYTES`."""
        return DiskSpace(DISK_BYTES, max(DISK_BYTES - _size_of(self._root), 0))

    def lock(self, path: str) -> MemoryLock:
        """Hold the lock file."""
        self.open(path)
        if path in self._locks:
            raise BlockingIOError(11, "another holder has the lock", path)
        return MemoryLock(self._locks, path)


def _size_of(folder: _Folder) -> int:
    return sum(
        _size_of(below) if isinstance(below, _Folder) else below.size
        for below in folder.entries.values()
    )


def _after_crash(
    folder: _Folder, path: str, kept: Callable[[str, int], int], *, zeros: bool
) -> _Folder:
    left = _Folder()
    for name, below in folder.durable.items():
        where = f"{path}/{name}" if path else name
        if isinstance(below, _Folder):
            left.entries[name] = _after_crash(below, where, kept, zeros=zeros)
        else:
            left.entries[name] = below.after_crash(partial(kept, where), zeros=zeros)
    left.durable = dict(left.entries)
    return left

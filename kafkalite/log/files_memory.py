"""The Files port in memory: for `--ephemeral`, for tests, and for simulations that crash.

What was not synced is known: `crash()` puts every file and folder back to what a disk would hold
after a loss of power. Views given out stay valid and unchanged: a buffer is never resized nor
written below its end while it grows; growing and truncating go on with a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kafkalite.log.files import Buffer, Part

_FIRST_CAPACITY = 1024


class _Node:
    """The bytes of one file, apart from its names and open handles."""

    __slots__ = ("_view", "buffer", "durable", "durable_size", "size")

    def __init__(self, data: bytes = b"") -> None:
        self.buffer = bytearray(data)
        self._view = memoryview(self.buffer).toreadonly()
        self.size = len(data)
        self.durable_size = 0
        """Bytes that a crash leaves, of `durable` or else of `buffer`."""
        self.durable: bytearray | None = None
        """What a crash leaves, where that is no beginning of `buffer` any more."""

    def append(self, parts: Sequence[Buffer]) -> None:
        size = self.size
        needed = size + sum(map(len, parts))
        if needed > len(self.buffer):
            self._move(max(needed, 2 * len(self.buffer), _FIRST_CAPACITY))
        for part in parts:
            end = size + len(part)
            self.buffer[size:end] = part
            size = end
        self.size = size

    def _move(self, capacity: int) -> None:
        buffer = bytearray(capacity)
        buffer[: self.size] = self._view[: self.size]
        self.buffer = buffer
        self._view = memoryview(buffer).toreadonly()

    def view(self, position: int, end: int) -> memoryview:
        return self._view[position:end]

    def overwrite(self, position: int, data: Buffer) -> None:
        if position < self.durable_size:
            self._keep_durable()
            self._move(len(self.buffer))
        self.buffer[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        if size < self.durable_size:
            self._keep_durable()
        self.size = size
        self._move(max(size, _FIRST_CAPACITY))

    def _keep_durable(self) -> None:
        if self.durable is None:
            self.durable = self.buffer

    def sync(self) -> None:
        self.durable = None
        self.durable_size = self.size

    def after_crash(self, kept: Callable[[int], int]) -> _Node:
        if self.durable is not None:
            data = bytes(self.durable[: self.durable_size])
        else:
            unsynced = self.size - self.durable_size
            data = bytes(self._view[: self.durable_size + (kept(unsynced) if unsynced else 0)])
        node = _Node(data)
        node.sync()
        return node


class _Folder:
    """Names now, and the names that a crash leaves."""

    __slots__ = ("durable", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, _Node | _Folder] = {}
        self.durable: dict[str, _Node | _Folder] = {}


class MemoryFile:
    """An open file of `MemoryFiles`. Slices are read-only views, which need no lease."""

    __slots__ = ("_closed", "_node")

    def __init__(self, node: _Node) -> None:
        self._node = node
        self._closed = False

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._node.size

    def append(self, parts: Sequence[Buffer]) -> None:
        """Write all parts at the end."""
        assert not self._closed, "append to a closed file"
        self._node.append(parts)

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`."""
        node = self._node
        return bytes(node.view(position, min(position + size, node.size)))

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes below `size` in place."""
        assert position + len(data) <= self._node.size, "write_at does not lengthen a file"
        self._node.overwrite(position, data)

    def slice(self, position: int, size: int) -> Part:
        """That range."""
        assert 0 <= position <= position + size <= self._node.size, "a slice ends with the file"
        assert not self._closed, "a slice of a closed file"
        return self._node.view(position, position + size)

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes; views of what is cut keep their bytes."""
        assert size <= self._node.size, "truncate does not lengthen a file"
        self._node.truncate(size)

    def sync(self) -> None:
        """From now on a crash leaves these bytes."""
        self._node.sync()

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

    def __init__(self) -> None:
        self._root = _Folder()
        self._locks: set[str] = set()

    def crash(self, kept: Callable[[str, int], int] = lambda path, unsynced: 0) -> None:
        """Lose power: what was not synced is gone, locks are free, open files are dead.

        `kept(path, unsynced)` says how many of a file's unsynced bytes reached the disk after all.
        """
        self._root = _after_crash(self._root, "", kept)
        self._locks = set()

    def _find(self, path: str) -> _Node | _Folder | None:
        found: _Node | _Folder | None = self._root
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

    def _file(self, path: str) -> _Node:
        found = self._find(path)
        if found is None:
            raise FileNotFoundError(2, "no such file", path)
        if not isinstance(found, _Node):
            raise IsADirectoryError(21, "a folder", path)
        return found

    def open(self, path: str) -> MemoryFile:
        """Open, made when missing."""
        folder, name = self._parent(path)
        node = folder.entries.setdefault(name, _Node())
        if not isinstance(node, _Node):
            raise IsADirectoryError(21, "a folder", path)
        return MemoryFile(node)

    def _parent(self, path: str) -> tuple[_Folder, str]:
        above, _, name = path.rpartition("/")
        return self._folder(above), name

    def open_read(self, path: str) -> MemoryFile:
        """Open what exists."""
        return MemoryFile(self._file(path))

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return self._find(path) is not None

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
        node = _Node(bytes(data))
        folder.entries[name] = node
        if sync:
            node.sync()
            folder.durable[name] = node

    def rename(self, source: str, target: str) -> None:
        """Move; a crash leaves the new name."""
        before, old = self._parent(source)
        after, new = self._parent(target)
        if old not in before.entries:
            raise FileNotFoundError(2, "no such file", source)
        moved = before.entries.pop(old)
        before.durable.pop(old, None)
        after.entries[new] = moved
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

    def sync_folder(self, path: str) -> None:
        """From now on a crash leaves these names."""
        folder = self._folder(path)
        folder.durable = dict(folder.entries)

    def lock(self, path: str) -> MemoryLock:
        """Hold the lock file."""
        self.open(path)
        if path in self._locks:
            raise BlockingIOError(11, "another holder has the lock", path)
        return MemoryLock(self._locks, path)


def _after_crash(folder: _Folder, path: str, kept: Callable[[str, int], int]) -> _Folder:
    left = _Folder()
    for name, below in folder.durable.items():
        where = f"{path}/{name}" if path else name
        if isinstance(below, _Folder):
            left.entries[name] = _after_crash(below, where, kept)
        else:
            left.entries[name] = below.after_crash(partial(kept, where))
    left.durable = dict(left.entries)
    return left

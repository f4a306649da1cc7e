"""The Files port: all that the log asks of a disk.

Synchronous. Paths are relative to the root that an implementation was given, with `/` between
parts; the empty path is the root itself. `slice()` gives bytes to send as a leased `Part`: sent by
`sendfile` from a real file, a view of memory from the twin. Whoever holds a lease keeps the file
open, and gives it back with `release()`; so do views of memory, whose `release()` is Python's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

Buffer = bytes | bytearray | memoryview


class FileSlice(Protocol):
    """A leased range of one file. `release()` exactly once, and nothing else after that."""

    fd: int
    """The descriptor that `os.sendfile` reads from."""
    position: int
    """Where the range starts in the file, in bytes."""

    def __len__(self) -> int:
        """Bytes in the range."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` of the range; for sockets that cannot take a file."""
        ...

    def release(self) -> None:
        """Give the lease back."""
        ...


Part = bytes | bytearray | memoryview | FileSlice
"""One piece of a response on its way out. `len()` works for each."""


def release_parts(parts: Iterable[Part]) -> None:
    """Give back what of these is on lease: they are not sent."""
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()


def read_part(part: Part) -> memoryview:
    """The bytes of a part, for whoever looks at them instead of sending them; the lease ends."""
    if isinstance(part, (bytes, bytearray, memoryview)):
        return memoryview(part)
    try:
        return memoryview(part.read(0, len(part)))
    finally:
        part.release()


class File(Protocol):
    """One open file. Appends go to its end; reads go anywhere below `size`."""

    @property
    def size(self) -> int:
        """Bytes written, synced or not."""
        ...

    def append(self, data: Buffer) -> None:
        """Write all of it at the end. After an `OSError` the file ends where it did before."""
        ...

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the end of the file."""
        ...

    def write_at(self, position: int, data: Buffer) -> None:
        """Overwrite bytes below `size` in place."""
        ...

    def slice(self, position: int, size: int) -> Part:
        """Exactly that range, leased: `position + size <= self.size`."""
        ...

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes. Slices of what is cut break: their reader sees a short file."""
        ...

    def reserve(self, size: int) -> None:
        """Have it as long as that on the disk until it is cut, closed, or reserved anew; 0: no
        longer than it is. What is reserved counts in `Files.size` alone, where it counts at all."""
        ...

    def sync(self) -> None:
        """Return when the bytes would survive a loss of power."""
        ...

    def close(self) -> None:
        """Close; the descriptor goes once the last lease is back. May be called twice."""
        ...


class Lock(Protocol):
    """A folder held by one process."""

    def release(self) -> None:
        """Let go."""
        ...


class DiskSpace(NamedTuple):
    """Of the disk that holds the root."""

    total_bytes: int
    usable_bytes: int
    """What is free, and this process may take."""


class Files(Protocol):
    """A tree of folders and files."""

    def open(self, path: str) -> File:
        """Open for reading and appending; made, empty, when missing. Its folder must exist."""
        ...

    def open_read(self, path: str) -> File:
        """Open what exists for reading alone; `FileNotFoundError` else."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there, not a file."""
        ...

    def size(self, path: str) -> int:
        """Bytes in the file, and those reserved; `FileNotFoundError` when missing."""
        ...

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted; `FileNotFoundError` when missing."""
        ...

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it; nothing happens when it exists. The root is made if
        the path is empty, and has to be there else."""
        ...

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """The whole file at once: after a crash of the process there is the old content or the new.

        With `sync` the new content survives a loss of power as well, at the cost of two fsyncs.
        After an `OSError` nothing has changed.
        """
        ...

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        """Atomic, over an existing file; durable with `sync`, else once the folders are synced."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; `FileNotFoundError` when missing."""
        ...

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all in it; nothing happens when missing."""
        ...

    def sync_file(self, path: str) -> None:
        """Make the bytes of a file that is there durable. As `sync_folder`, safe in a worker."""
        ...

    def sync_folder(self, path: str) -> None:
        """Make the folder's entries durable."""
        ...

    def apart(self) -> Files:
        """The same tree, for another thread: no file that is open here is open there."""
        ...

    def space(self) -> DiskSpace:
        """How large the disk is, and what is left of it. The root must exist."""
        ...

    def lock(self, path: str) -> Lock:
        """Hold the lock file; `BlockingIOError` when another holder has it."""
        ...

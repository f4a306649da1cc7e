"""The Files port over a real folder, with what each platform lacks guarded. Its open files are
those of `os_file.py`."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from kafkalite.log.files import DiskSpace
from kafkalite.log.open_files import OpenFiles, descriptor_limit
from kafkalite.log.os_file import BINARY, NO_INHERIT, OsFile, sync_data
from kafkalite.log.os_lock import OsLock

_TEMPORARY_SUFFIX = ".tmp"
"""Kafka's own name for a checkpoint being replaced."""
_LIMIT_APART = 64
"""Of descriptors, for one log at a time."""


class OsFiles:
    """The tree below `root`, which need not exist yet."""

    def __init__(
        self, root: str, *, limit: int | None = None, open_files: OpenFiles | None = None
    ) -> None:
        """`limit`: of descriptors, for files and all else; None: what the process has now.
        `open_files`: those of all trees together, where there are several."""
        self._root = os.path.abspath(root)
        self._open_files = open_files or OpenFiles(descriptor_limit() if limit is None else limit)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def open(self, path: str) -> OsFile:
        """Open for reading and appending, made when missing."""
        return OsFile(self._at(path), os.O_RDWR | os.O_CREAT, self._open_files)

    def open_read(self, path: str) -> OsFile:
        """Open what exists for reading."""
        return OsFile(self._at(path), os.O_RDONLY, self._open_files)

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return os.path.exists(self._at(path))

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        return os.path.isdir(self._at(path))

    def size(self, path: str) -> int:
        """Bytes in the file."""
        return os.stat(self._at(path)).st_size

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        return sorted(os.listdir(self._at(path)))

    def make_folder(self, path: str) -> None:
        """Make the folder and those above it; but a root that was there and was removed, with all
        in it, is not to come back as if nothing had been."""
        if not path:
            self._make_root()
        elif os.path.isdir(self._root):
            os.makedirs(self._at(path), exist_ok=True)
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._root)

    def _make_root(self) -> None:
        """Durably: a loss of power is not to take all that was synced in it."""
        made = []
        missing = self._root
        while not os.path.isdir(missing):
            made.append(missing)
            missing = os.path.dirname(missing)
        os.makedirs(self._root, exist_ok=True)
        for folder in made:
            with suppress(PermissionError):  # Who may write there need not be allowed to read.
                _sync_folder(os.path.dirname(folder))

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Write beside, then rename over."""
        target = self._at(path)
        temporary = target + _TEMPORARY_SUFFIX
        try:
            _write_file(temporary, data, sync=sync)
            os.replace(temporary, target)
        except OSError:
            with suppress(OSError):
                os.remove(temporary)  # A full disk is to get back what was taken of it.
            raise
        if sync:
            _sync_folder(os.path.dirname(target))

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        """Rename, and with `sync` wait until the disk knows."""
        before, after = self._at(source), self._at(target)
        os.replace(before, after)
        if not sync:
            return
        _sync_folder(os.path.dirname(after))
        if os.path.dirname(before) != os.path.dirname(after):
            _sync_folder(os.path.dirname(before))

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.remove(self._at(path))

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all in it."""
        import shutil  # 5 ms, which a start need not pay.

        at = self._at(path)
        try:
            if os.path.islink(at):
                os.remove(at)  # What it names is somebody's own.
                return
            shutil.rmtree(at)
        except FileNotFoundError:
            return

    def sync_file(self, path: str) -> None:
        """Wait until the disk has the file's bytes."""
        # A descriptor of its own: those of `OpenFiles` are for the thread of the loop.
        fd = os.open(self._at(path), os.O_RDWR | BINARY | NO_INHERIT)
        try:
            sync_data(fd)
        finally:
            os.close(fd)

    def sync_folder(self, path: str) -> None:
        """Wait until the disk has the folder's entries."""
        _sync_folder(self._at(path))

    def apart(self) -> OsFiles:
        """The same tree, with a few descriptors of its own."""
        return OsFiles(self._root, limit=_LIMIT_APART)

    def space(self) -> DiskSpace:
        """Of the file system that the root is on."""
        import shutil  # 5 ms, which a start need not pay.

        usage = shutil.disk_usage(self._root)
        return DiskSpace(usage.total, usage.free)

    def lock(self, path: str) -> OsLock:
        """Hold the lock file."""
        return OsLock(self._at(path))


def _write_file(path: str, data: bytes, *, sync: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY | NO_INHERIT, 0o644)
    try:
        with memoryview(data) as view:
            written = 0
            while written < len(view):
                written += os.write(fd, view[written:])
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(path: str) -> None:
    if sys.platform == "win32":
        return  # A folder cannot be opened there; NTFS journals its entries by itself.
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

"""A lock file of the operating system, which lets go of it when the process dies."""

from __future__ import annotations

import os
import sys
from struct import pack

_BINARY: int = getattr(os, "O_BINARY", 0)
_NO_INHERIT: int = getattr(os, "O_CLOEXEC", 0)


class OsLock:
    """A lock file held; the system lets go of it when the process dies."""

    __slots__ = ("_fd",)

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY | _NO_INHERIT, 0o644)
        try:
            _lock(self._fd)
        except OSError as error:
            os.close(self._fd)
            raise BlockingIOError(error.errno, "another process holds the lock", path) from error

    def release(self) -> None:
        """Let go; a second time does nothing."""
        if self._fd >= 0:
            _unlock(self._fd)
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    """Lock against other processes (a JVM's `FileLock` too) and other holders in this one."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    if hasattr(fcntl, "F_OFD_SETLK"):
        # Linux: seen by the POSIX locks that Java takes, yet owned by the descriptor.
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _ofd_request(fcntl.F_WRLCK))
        return
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(fd: int) -> None:
    """What closing alone would not do while a process that was forked meanwhile holds the file."""
    if sys.platform == "win32":
        return
    import fcntl

    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _ofd_request(fcntl.F_UNLCK))
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)


def _ofd_request(type: int) -> bytes:
    """Of the whole file, as `struct flock` says it on Linux."""
    return pack("hhqqi4x", type, os.SEEK_SET, 0, 0, 0)

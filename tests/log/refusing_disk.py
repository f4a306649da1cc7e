"""A disk in memory that can be made to refuse everything, as a real one does when it fails."""

from __future__ import annotations

from kafkalite.log.files import Buffer, DiskSpace, Part
from kafkalite.log.files_memory import MemoryFile, MemoryFiles, MemoryLock
from kafkalite.log.memory_bytes import MemoryBytes


class RefusingDisk(MemoryFiles):
    """Raises an `OSError` of the number `error` while there is one; files that are open too."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.error: int | None = None
        self.only: str | None = None
        """The one path that it refuses; None: all."""
        self.may_read = False
        """Whether it refuses writes alone."""

    def look(self, path: str | None = None, *, writes: bool = False) -> None:
        if self.only is not None and path != self.only:
            return
        if self.error is not None and (writes or not self.may_read):
            raise OSError(self.error, f"error {self.error}")

    def open(self, path: str) -> MemoryFile:
        self.look()
        return _File(self, super().open(path).node)

    def open_read(self, path: str) -> MemoryFile:
        self.look(path)
        return _File(self, super().open_read(path).node)

    def exists(self, path: str) -> bool:
        self.look()
        return super().exists(path)

    def list(self, path: str) -> list[str]:
        self.look(path)
        return super().list(path)

    def make_folder(self, path: str) -> None:
        self.look(writes=True)
        super().make_folder(path)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.look(writes=True)
        super().replace(path, data, sync=sync)

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        self.look(writes=True)
        super().rename(source, target, sync=sync)

    def remove(self, path: str) -> None:
        self.look(writes=True)
        super().remove(path)

    def space(self) -> DiskSpace:
        self.look()
        return super().space()

    def lock(self, path: str) -> MemoryLock:
        self.look(writes=True)
        return super().lock(path)


class RefusingRenames(MemoryFiles):
    """Refuses one rename, of so many from now: 0 is the next."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise OSError(28, "No space left on device")
        super().rename(source, target, sync=sync)

    @property
    def has_refused(self) -> bool:
        return self.left is None


class _File(MemoryFile):
    __slots__ = ("_disk",)

    def __init__(self, disk: RefusingDisk, node: MemoryBytes) -> None:
        super().__init__(node)
        self._disk = disk

    def append(self, data: Buffer) -> None:
        self._disk.look(writes=True)
        super().append(data)

    def read(self, position: int, size: int) -> bytes:
        self._disk.look()
        return super().read(position, size)

    def slice(self, position: int, size: int) -> Part:
        self._disk.look()
        return super().slice(position, size)

"""Folders of new partitions, which a worker makes beside and the log then takes."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.folder_names import DELETE_SUFFIX, set_aside_name
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import TopicPartition, Uuid


class FolderPlan(NamedTuple):
    """The folder that a log without one is to have."""

    partition: TopicPartition
    log: PartitionLog
    folder: str
    """Its name until the log takes it: as of one to be removed, should it come to that."""
    files: dict[str, bytes]

    @classmethod
    def of(cls, partition: TopicPartition, log: PartitionLog, unique: Uuid) -> FolderPlan:
        """What `build` is to make."""
        folder = set_aside_name(partition, unique, DELETE_SUFFIX)
        return cls(partition, log, folder, log.folder.new_files())

    def build(self, files: Files) -> None:
        """Make the folder, under a name that nobody looks for. Safe in a worker."""
        files.make_folder(self.folder)
        for name, content in self.files.items():
            files.replace(f"{self.folder}/{name}", content, sync=False)

    def adopt(self, directory: LogDirectory) -> bool:
        """Give the folder that was built its name; False when nobody wants it any more: the log has
        made one itself, or is gone. Then it is for `LogDirectory.remove`."""
        if directory.logs.get(self.partition) is not self.log or self.log.folder.exists:
            return False
        directory.files.rename(self.folder, self.log.folder.path, sync=False)
        self.log.folder.was_made(self.files)
        return True

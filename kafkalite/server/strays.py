"""Folders of partitions that the metadata does not have, or has on other brokers.

Those of topics that it knows to have been deleted are removed: a crash came before. Others are
renamed, and neither opened nor removed: a person may want to look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from contextlib import suppress

from kafkalite.log.directories import LogDirectory
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.entropy import Entropy
from kafkalite.types import BrokerId, TopicPartition, Uuid

_log = logging.getLogger(__name__)


class Strays:
    """Sets them aside."""

    def __init__(
        self,
        broker_id: BrokerId,
        directory: LogDirectory,
        entropy: Entropy,
        remove_later: Callable[[str], None],
    ) -> None:
        self._broker_id = broker_id
        self._directory = directory
        self._entropy = entropy
        self._remove_later = remove_later
        self._removed: Container[Uuid] = ()
        self.has_refused = False
        """Whether the disk has left one of them its name, until the next start."""

    def set_aside_all(self, image: MetadataImage, removed: Container[Uuid]) -> None:
        """Those of which the image has no replica here. `removed` are ids of deleted topics, now
        and for `set_aside`."""
        self._removed = removed

        def is_known(partition: TopicPartition) -> bool:
            topic = image.topics.get(partition.topic)
            if topic is None or partition.partition >= len(topic.partitions):
                return False
            return self._broker_id in topic.partitions[partition.partition].replicas

        for stray in self._directory.find_partitions(unless=is_known):
            with suppress(OSError):  # It is told.
                self.set_aside(stray)

    def set_aside(self, stray: TopicPartition) -> None:
        """One whose folder is there. `OSError`, which is told, if the disk refuses: it stays, and
        its name may be free when that is tried again."""
        directory, unique = self._directory, self._entropy.uuid()
        try:
            if directory.read_topic_id(stray) in self._removed:
                folder = directory.delete_partition(stray, unique)
                if folder is not None:
                    self._remove_later(folder)
                return
            folder = directory.set_stray(stray, unique)
        except OSError as error:
            self.has_refused = True
            _log.error("%s is not to be here, and stays: %s", stray, str(error))
            raise
        else:
            _log.warning("%s is not to be here: set aside as %s", stray, folder)

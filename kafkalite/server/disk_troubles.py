"""Says once what a disk refuses, and that it is over, however many requests meet it.

For errors that pass: a full disk, too many open files. Source: none; Kafka takes these for the end
of the folder.
"""

from __future__ import annotations

import logging
import os

from kafkalite.log.directories import LogDirectory

_log = logging.getLogger(__name__)


class Trouble:
    """One that goes on while the same is tried again and again."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told = ""

    def level(self, what: str) -> int:
        """At which to log it: as a warning, and then for whoever looks for it."""
        is_known, self._told = what == self._told, what
        return logging.DEBUG if is_known else logging.WARNING

    def is_over(self) -> None:
        """The next one is another."""
        self._told = ""


class DiskTroubles:
    """Those of one broker."""

    __slots__ = ("causes",)

    def __init__(self) -> None:
        self.causes: dict[str, set[int]] = {}
        """Error numbers by the location of the folder."""

    def refused(self, directory: LogDirectory, error: OSError) -> None:
        """A write or a read has failed; told the first time."""
        causes = self.causes.setdefault(directory.location, set())
        number = error.errno or 0
        if number not in causes:
            causes.add(number)
            why = os.strerror(number) if number else str(error)
            _log.error(
                "the disk of %s refuses (%s): requests get KAFKA_STORAGE_ERROR until that is over",
                directory.location,
                why,
            )

    def took(self, directory: LogDirectory) -> None:
        """An append has succeeded."""
        if self.causes.pop(directory.location, None):
            _log.warning("the disk of %s takes records again", directory.location)

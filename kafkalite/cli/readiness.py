"""How `serve` tells that it is ready: a line on standard output, and a file for those that wait."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import NamedTuple

from kafkalite.cli.errors import CommandError
from kafkalite.ports.process import age_ms


class Ready(NamedTuple):
    """A broker that serves, or a controller alone."""

    address: str
    """Where to dial from this machine, `HOST:PORT`: of the first listener whose clients can go on
    from here."""
    data: str | None
    """The log folder; None: memory."""
    listeners: Mapping[str, str]
    """All addresses to dial, `address` among them, by the listener's name."""
    is_broker: bool = True

    def line(self) -> str:
        """For people."""
        others = [
            f"{address} ({name})"
            for name, address in self.listeners.items()
            if address != self.address
        ]
        also = f"; also on {', '.join(others)}" if others else ""
        where = f"data in {'memory' if self.data is None else self.data}"
        if not self.is_broker:
            where = "a controller alone that serves no clients"
        return f"kafkalite ready on {self.address}, {where}, started in {age_ms()} ms{also}"

    def json(self) -> str:
        """For machines: an object, without a newline."""
        import json

        return json.dumps(
            {
                "bootstrap": self.address if self.is_broker else None,
                "data": self.data,
                "started_in_ms": age_ms(),
                "listeners": self.listeners,
            }
        )


class ReadyFile:
    """The file of `--ready-file`. It is there while the broker serves: one that an earlier one
    left is removed first."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.remove()

    def write(self, ready: Ready) -> None:
        """The address and a newline. Whoever sees the file sees all of it."""
        beside = f"{self._path}.{os.getpid()}"
        try:
            with open(beside, "w", encoding="utf-8") as file:
                file.write(f"{ready.address}\n")
            os.replace(beside, self._path)
        except OSError as error:
            raise self._refusal(error) from error

    def remove(self) -> None:
        """Nothing happens when it is not there."""
        try:
            with suppress(FileNotFoundError):
                os.remove(self._path)
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> CommandError:
        return CommandError(
            f"cannot use {self._path} ({error.strerror}); choose another file with --ready-file"
        )


def tell_ready(
    ready: Ready, file: ReadyFile | None, stack: AsyncExitStack, *, as_json: bool
) -> None:
    """From now on, and until `stack` is left."""
    if file is not None:
        stack.callback(file.remove)
        file.write(ready)
    print(ready.json() if as_json else ready.line(), flush=True)
    gc.freeze()  # What is there now stays: a look through all of it would hold up requests.
    gc.enable()

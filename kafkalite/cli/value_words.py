"""What the values of options are called in the help: words of people, the same in every command.

They are said here and not beside the options, for `serve` must be ready before the library that
reads command lines would be imported (`plain_options.py`).
"""

from __future__ import annotations

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel
from rich.console import Console, ConsoleOptions

_OF_OPTIONS = {
    "--bootstrap": "HOST:PORT",
    "--command-config": "FILE",
    "--config": "FILE",
    "--data": "FOLDER",
    "--delete": "KEY",
    "--env": "NAME",
    "--group": "NAME",
    "--header": "NAME=VALUE",
    "--node-id": "ID",
    "--port": "PORT",
    "--ready-file": "FILE",
    "--set": "KEY=VALUE",
    "--topic": "NAME[:PARTITIONS]",
    "--watch": "SECONDS",
    "--zookeeper": "HOST:PORT",
}
_OF_TYPES = {"STR": "TEXT", "INT": "NUMBER", "FLOAT": "NUMBER"}
"""Where an option has no word of its own."""
_MANY = "..."
"""Behind a type, of which an option takes one at a time and may be repeated, as its text says."""


class HelpInWords(DefaultFormatter):
    """The library's, but for the names that it gives to types."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """See `DefaultFormatter`."""
        panel = panel.copy(entries=[_in_words(entry) for entry in panel.entries])
        super().__call__(console, options, panel)


def _in_words(entry: HelpEntry) -> HelpEntry:
    kind = (entry.metavar or "").removesuffix(_MANY)
    if kind not in _OF_TYPES:
        return entry
    own = [_OF_OPTIONS[name] for name in entry.positive_names if name in _OF_OPTIONS]
    return entry.copy(metavar=own[0] if own else _OF_TYPES[kind])

"""Files of settings that options name."""

from __future__ import annotations

from kafkalite.cli.errors import WrongUseError
from kafkalite.config.properties import Property, is_text, parse_properties
from kafkalite.ports.small_files import read_small_file


def read_properties_file(path: str, option: str) -> dict[str, Property]:
    """By key. `WrongUseError` with the option and the path for a file that cannot be read, is too
    long, or is none of properties."""
    where = f"{option} {path}"
    try:
        data = read_small_file(path)
        if not is_text(data):
            raise WrongUseError(f"{where}: this is no properties file, but a binary one")
        return parse_properties(data)
    except ValueError as error:
        raise WrongUseError(f"{where}: {error}") from error

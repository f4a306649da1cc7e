"""Files of settings that options name."""

from __future__ import annotations

from kafkalite.cli.errors import WrongUseError
from kafkalite.config.properties import Property, is_text, parse_properties

_MOST_BYTES = 1 << 20
"""Kafka's own server.properties with all its comments has 7 KB."""


def read_properties_file(path: str, option: str) -> dict[str, Property]:
    """By key. `WrongUseError` with the option and the path for a file that cannot be read, is
    longer than a MiB, or is none of properties."""
    where = f"{option} {path}"
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise WrongUseError(f"{where}: it is longer than {_MOST_BYTES} bytes")
        if not is_text(data):
            raise WrongUseError(f"{where}: this is no properties file, but a binary one")
        return parse_properties(data)
    except OSError as error:
        raise WrongUseError(f"{where}: {error.strerror or error}") from error
    except ValueError as error:  # Of the text, or of a path with a null byte.
        raise WrongUseError(f"{where}: {error}") from error

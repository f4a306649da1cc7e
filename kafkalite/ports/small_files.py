"""Files that people write by hand: settings, secrets, certificates."""

from __future__ import annotations

_MOST_BYTES = 1 << 20
"""Kafka's own server.properties with all its comments has 7 KB, and the certificates that Mozilla
trusts some 220 KB."""


def read_small_file(path: str) -> bytes:
    """All of it. `ValueError` that says why for one that cannot be read, or is longer than a MiB:
    one such as /dev/zero has no end."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES} bytes")
    return data

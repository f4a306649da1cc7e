"""All that stands on a disk, to be compared."""

from __future__ import annotations

from kafkalite.log.files import Files

Tree = dict[str, bytes | None]
"""Contents by path; None for a folder."""


def tree(files: Files, folder: str = "") -> Tree:
    """Everything in the folder and below."""
    found: Tree = {}
    for name in files.list(folder):
        path = f"{folder}/{name}" if folder else name
        if files.is_folder(path):
            found[path] = None
            found |= tree(files, path)
        else:
            file = files.open_read(path)
            found[path] = file.read(0, file.size)
            file.close()
    return found

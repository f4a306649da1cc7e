"""The file of an index that is added to, now and then, while its segment grows."""

from __future__ import annotations

import errno

from kafkalite.log.files import Files


def extend(files: Files, path: str, kept_bytes: int, data: bytes | bytearray) -> None:
    """Have the file go on with `data` behind its first `kept_bytes`; what else is there goes. Not
    synced. `OSError` too when it has not so many: then it is not what was written."""
    file = files.open(path)
    try:
        if file.size < kept_bytes:
            raise OSError(errno.EIO, f"{file.size} bytes are there, not {kept_bytes}", path)
        if file.size > kept_bytes:
            file.truncate(kept_bytes)
        file.append(data)
    finally:
        file.close()

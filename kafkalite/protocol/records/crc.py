"""CRC-32C, by the extension module of the package crc32c.

The package itself looks up its own version when it is imported, in the metadata of all that is
installed: 15 to 20 ms, a tenth of what a broker takes to start. Its extension does not need that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec

Crc = Callable[[bytes | bytearray | memoryview], int]


@cache
def load_crc32c() -> Crc:
    """The function. Loaded when the first batch needs it, not when a command starts."""
    package = find_spec("crc32c")
    extension = package and _extension(package)
    if extension is None or extension.loader is None:
        from crc32c import crc32c  # Says what is missing.

        function: Crc = crc32c
        return function
    module = module_from_spec(extension)
    extension.loader.exec_module(module)
    function = module.crc32c
    return function


def _extension(package: ModuleSpec) -> ModuleSpec | None:
    return PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)

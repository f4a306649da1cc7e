"""CRC-32C without the package around it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkalite.protocol.records import crc


@pytest.mark.parametrize("with_extension", [True, False])
def test_it_is_castagnolis(with_extension: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_extension:
        monkeypatch.setattr(crc, "_extension", lambda package: None)
    crc32c = crc.load_crc32c.__wrapped__()
    # The check value of the CRC catalogues.
    assert crc32c(memoryview(bytearray(b"123456789"))) == 0xE3069283


def test_the_package_around_it_is_not_imported() -> None:
    program = (
        "import sys; from kafkalite.protocol.records.crc import load_crc32c; load_crc32c();"
        " print({'crc32c', 'importlib.metadata'} & sys.modules.keys() or 'neither')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "neither\n"

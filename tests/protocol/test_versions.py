from __future__ import annotations

import pytest

from kafkalite.protocol.versions import OPEN_END, Versions


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("0+", 0, OPEN_END), ("3-11", 3, 11), ("7", 7, 7), ("12+", 12, OPEN_END)],
)
def test_versions(text: str, first: int, last: int) -> None:
    versions = Versions.parse(text)
    assert (versions.first, versions.last) == (first, last)
    assert first in versions
    assert last in versions
    assert first - 1 not in versions
    assert last + 1 not in versions


def test_no_version_is_in_none() -> None:
    assert not any(version in Versions.parse("none") for version in (-1, 0, 1, OPEN_END))
    versions: object = "0"
    assert versions not in Versions.parse("0+")


@pytest.mark.parametrize("text", ["", "x", "1-x", "+"])
def test_what_is_no_range_of_versions(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Versions.parse(text)

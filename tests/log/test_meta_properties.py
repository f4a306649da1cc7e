"""`meta.properties`: Kafka's own, and what is none."""

from __future__ import annotations

import pytest

from kafkalite.log.meta_properties import LogDirectoryError, Meta, format_meta, parse_meta
from kafkalite.types import BrokerId, parse_uuid
from tests.log.golden_folders import ROOT


def test_kafkas_own() -> None:
    meta = parse_meta((ROOT / "meta.properties").read_bytes(), "x")
    assert meta == Meta(BrokerId(1), "oracle-AAAAAAAAAAAAAAA", parse_uuid("1x9SQgBzT5uQ75Ea6Jv__Q"))
    assert parse_meta(format_meta(meta), "x") == meta


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"node.id=1\n", "it has no version"),
        (b"version=1\nnode.id=1\ncluster.id=c\n", "it has no directory.id"),
        (b"version=1\nnode.id=one\ncluster.id=c\ndirectory.id=1x9SQgBzT5uQ75Ea6Jv__Q\n", "'one'"),
        (b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=short\n", ""),
        (b"no equals sign\n", "it has no version"),
        (b"", "it has no version"),
        (b"\xff", ""),
    ],
)
def test_damaged(content: bytes, says: str) -> None:
    with pytest.raises(LogDirectoryError, match=rf"x/meta\.properties is damaged: .*{says}"):
        parse_meta(content, "x")


def test_another_version() -> None:
    with pytest.raises(LogDirectoryError, match="version 0"):
        parse_meta(b"version=0\nbroker.id=1\n", "x")

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
    "content",
    [
        b"node.id=1\n",
        b"version=1\nnode.id=one\ncluster.id=c\ndirectory.id=1x9SQgBzT5uQ75Ea6Jv__Q\n",
        b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=short\n",
        b"no equals sign\n",
        b"\xff",
    ],
)
def test_damaged(content: bytes) -> None:
    with pytest.raises(LogDirectoryError, match=r"x/meta\.properties is damaged"):
        parse_meta(content, "x")


def test_another_version() -> None:
    with pytest.raises(LogDirectoryError, match="version 0"):
        parse_meta(b"version=0\nbroker.id=1\n", "x")

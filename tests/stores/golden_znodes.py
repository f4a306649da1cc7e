"""Eight moments of a real Kafka 3.9 cluster in ZooKeeper (`tests/data/zookeeper`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "data" / "zookeeper"
MOMENTS = tuple(sorted(path.stem for path in FOLDER.glob("[1-8]-*.json")))


class GoldenNode(NamedTuple):
    """A znode as it was recorded."""

    data: bytes | None
    ephemeral: bool
    version: int


def moment(name: str) -> dict[str, GoldenNode]:
    """All znodes by path. Partitions of `__consumer_offsets` other than 0 were not recorded."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    return {
        path: GoldenNode(
            each["data"].encode() if each["data"] else None, each["ephemeral"], each["version"]
        )
        for path, each in recorded.items()
    }

"""Writes what the real Kafka answers in the talk about the limits of groups, having started it:
how `group-limits.jsonl` was made, of Kafka 4.4.0.

    python -m compat_tests.record_group_limits
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from compat_tests.group_limits_talk import talk
from compat_tests.real_kafka import RealKafka
from compat_tests.record_consumer_groups import write

LIMITS = Path(__file__).parent / "group-limits.jsonl"


def main() -> None:
    """A row for each step, in the order of the talk."""
    with tempfile.TemporaryDirectory() as folder:

        @contextmanager
        def started(settings: Mapping[str, str]) -> Iterator[str]:
            kafka = RealKafka(Path(folder), settings)
            try:
                yield kafka.address
            finally:
                kafka.end("stopped")

        write(LIMITS, talk(started))


if __name__ == "__main__":
    main()

"""What a dump says, in parts that can be compared."""

from __future__ import annotations

from itertools import pairwise

COMPLAINTS = (
    "Mismatches in",
    "Found timestamp mismatch in",
    "Found out of order timestamp in",
    "The following indexed offsets are not found in",
    "Non-consecutive offsets in",
)


def in_sections(lines: list[str]) -> tuple[list[str], list[list[str]]]:
    """The facts, and the complaints at the end file by file: Kafka's tool tells these in the order
    of a hash map."""
    starts = [at for at, line in enumerate(lines) if line.startswith(COMPLAINTS)]
    ends = [*starts, len(lines)]
    return lines[: ends[0]], sorted(lines[start:end] for start, end in pairwise(ends))

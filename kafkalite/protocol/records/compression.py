"""The four codecs of record batches, in the framings that Kafka's Java client reads and writes."""

from __future__ import annotations

from enum import IntEnum


class Compression(IntEnum):
    """The codec number in the low three bits of a batch's attributes. 5 to 7 are not assigned."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

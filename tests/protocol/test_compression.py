from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import cramjam
import lz4.frame
import pytest
import zstandard

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import HEADER_SIZE, iter_headers
from kafkalite.protocol.records.compression import (
    Compression,
    DecompressedTooLargeError,
    DecompressionError,
    compress,
    decompress,
)

LOG_DIRS = Path(__file__).parent.parent / "data" / "log-dirs"
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
CODECS = [codec for codec in Compression if codec is not Compression.NONE]
TEXT = b"".join(b"line %d of a text that repeats itself;" % (number % 97) for number in range(5000))


def golden_payloads(name: str) -> list[bytes]:
    """The compressed records of each batch that the real Kafka stored."""
    data = (LOG_DIRS / name / "00000000000000000000.log").read_bytes()
    return [
        data[position + HEADER_SIZE : position + header.size_bytes]
        for position, header in iter_headers(data)
    ]


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("size", [0, 1, 100, 32 * 1024, 32 * 1024 + 1, 190_000])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_comes_back(codec: Compression, size: int, kind: type) -> None:
    data = TEXT[:size]
    packed = compress(codec, kind(data))
    assert decompress(codec, kind(bytes(packed)), size) == data


@pytest.mark.parametrize("codec", CODECS)
def test_compresses(codec: Compression) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 4


@pytest.mark.parametrize(
    ("codec", "low", "high"),
    [(Compression.GZIP, 1, 9), (Compression.LZ4, 1, 12), (Compression.ZSTD, 1, 19)],
)
def test_level_matters(codec: Compression, low: int, high: int) -> None:
    text = bytes(TEXT[::3])
    fast, small = compress(codec, text, low), compress(codec, text, high)
    assert len(small) < len(fast)
    assert decompress(codec, small) == decompress(codec, fast) == text


@pytest.mark.parametrize("codec", CODECS)
def test_limit_is_inclusive(codec: Compression) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, len(TEXT)) == TEXT
    with pytest.raises(DecompressedTooLargeError, match=str(len(TEXT) - 1)):
        decompress(codec, packed, len(TEXT) - 1)


def test_what_is_not_compressed_has_no_limit() -> None:
    assert decompress(Compression.NONE, TEXT, 10) is TEXT


def bomb(codec: Compression) -> bytes:
    """64 MiB of zeros."""
    zeros = bytes(1 << 26)
    if codec is Compression.SNAPPY:
        return bytes(cramjam.snappy.compress_raw(zeros))
    return bytes(compress(codec, zeros))


@pytest.mark.parametrize("codec", CODECS)
def test_bomb_is_refused_without_its_memory(codec: Compression) -> None:
    packed = bomb(codec)
    limit = 1 << 20
    decompress(codec, compress(codec, b"x"))  # Imports are not to be counted.
    tracemalloc.start()
    try:
        with pytest.raises(DecompressedTooLargeError):
            decompress(codec, packed, limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # lz4 copies what it has not read yet, and grows by doubling.
    assert peak < 2.5 * limit + 2 * len(packed) + (1 << 19)


def test_snappy_claim_that_no_block_can_keep_is_refused_before_allocating() -> None:
    with pytest.raises(DecompressionError, match="cannot hold 4294967295"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(50), 2**33)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"", b"\x00", b"records, not compressed", b"\xff" * 40])
def test_garbage_is_refused_or_empty(codec: Compression, garbage: bytes) -> None:
    try:
        assert not decompress(codec, garbage)
    except CorruptRecordError:
        return
    assert garbage in {b"", b"\x00"}


@pytest.mark.parametrize("codec", CODECS)
def test_cut_stream_is_refused(codec: Compression) -> None:
    """Or, between two blocks of snappy, which has no end of its own, gives less."""
    packed = bytes(compress(codec, TEXT))
    for size in (*range(1, 40), *range(40, len(packed), 7), *range(len(packed) - 9, len(packed))):
        try:
            got = decompress(codec, packed[:size])
        except DecompressionError:
            continue
        assert codec is Compression.SNAPPY
        assert len(got) < len(TEXT)
        assert TEXT.startswith(bytes(got))


def test_gzip_reads_several_members_and_passes_over_what_follows() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert decompress(Compression.GZIP, members) == b"one two"
    for padding in (b"\x00\x00padding", b"\x1f\x8bxx"):
        assert decompress(Compression.GZIP, members + padding) == b"one two"
    with pytest.raises(DecompressedTooLargeError):
        decompress(Compression.GZIP, members, 5)


def test_gzip_checks_the_sum_of_its_bytes() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    with pytest.raises(DecompressionError, match="gzip"):
        decompress(Compression.GZIP, packed)


def test_snappy_is_written_as_xerial_and_read_raw_too() -> None:
    packed = bytes(compress(Compression.SNAPPY, TEXT))
    assert packed.startswith(XERIAL_HEADER)
    assert int.from_bytes(packed[16:20], "big") < 32 * 1024
    raw = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Compression.SNAPPY, raw, len(TEXT)) == TEXT


def test_snappy_reads_xerial_streams_in_a_row() -> None:
    one, two = (bytes(compress(Compression.SNAPPY, data)) for data in (b"one ", b"two"))
    assert decompress(Compression.SNAPPY, one + two) == b"one two"
    with pytest.raises(DecompressedTooLargeError):
        decompress(Compression.SNAPPY, one + two, 6)
    with pytest.raises(DecompressionError, match="header ends early"):
        decompress(Compression.SNAPPY, one + two[:12])
    assert decompress(Compression.SNAPPY, one + two + b"ab") == b"one two"


@pytest.mark.parametrize(
    ("tail", "why"),
    [
        (b"\x00\x00\x00\x05abcd", "block of 5 bytes where 4 are"),
        (b"\xff\xff\xff\xff", "block of -1 bytes"),
        (b"\x00\x00\x00\x03\x05ab", "snappy"),
    ],
)
def test_snappy_block_that_is_none_is_refused(tail: bytes, why: str) -> None:
    with pytest.raises(DecompressionError, match=why):
        decompress(Compression.SNAPPY, XERIAL_HEADER + tail)


def test_lz4_frame_is_the_one_that_java_writes() -> None:
    packed = bytes(compress(Compression.LZ4, TEXT))
    info = lz4.frame.get_frame_info(packed)
    assert info["block_size"] == 64 * 1024
    assert not info["block_linked"]
    assert not info["block_checksum"]
    assert not info["content_checksum"]
    assert info["content_size"] == 0


def test_lz4_with_linked_blocks_is_refused_as_java_does() -> None:
    packed = lz4.frame.compress(TEXT, block_linked=True)
    with pytest.raises(DecompressionError, match="linked"):
        decompress(Compression.LZ4, packed)


def test_lz4_with_a_size_and_checksums_is_read() -> None:
    packed = lz4.frame.compress(
        TEXT, block_linked=False, content_checksum=True, block_checksum=True, store_size=True
    )
    assert decompress(Compression.LZ4, packed) == TEXT


def test_lz4_ignores_what_follows_the_frame() -> None:
    packed = bytes(compress(Compression.LZ4, TEXT))
    assert decompress(Compression.LZ4, packed + b"more") == TEXT


def test_zstd_is_written_without_its_size_and_read_with_it() -> None:
    packed = bytes(compress(Compression.ZSTD, TEXT))
    assert zstandard.frame_content_size(packed) == -1
    sized = zstandard.ZstdCompressor(write_content_size=True).compress(TEXT)
    assert decompress(Compression.ZSTD, sized) == TEXT
    assert decompress(Compression.ZSTD, packed + sized) == TEXT + TEXT


@pytest.mark.parametrize("text", [b"", b"short", b"\x00" * 400_000, TEXT])
@pytest.mark.parametrize("has_checksum", [False, True])
def test_zstd_must_end_with_a_frame(text: bytes, *, has_checksum: bool) -> None:
    frame = zstandard.ZstdCompressor(write_checksum=has_checksum).compress(text)
    skippable = bytes.fromhex("502a4d18") + b"\x02\x00\x00\x00ab"
    assert decompress(Compression.ZSTD, frame + skippable) == text
    assert decompress(Compression.ZSTD, skippable + frame) == text
    for whole in (frame, frame + skippable):
        for cut in range(1, min(12, len(frame))):
            if whole[:-cut] in {frame, b""}:
                continue
            with pytest.raises(DecompressionError, match="zstd"):
                decompress(Compression.ZSTD, whole[:-cut])
    for garbage in (b"a", b"abcdefgh"):
        with pytest.raises(DecompressionError, match="zstd"):
            decompress(Compression.ZSTD, frame + garbage)


@pytest.mark.parametrize("codec", CODECS)
def test_reads_what_clients_and_kafka_compressed(codec: Compression) -> None:
    names = [f"codec-{codec.name.lower()}-0"]
    if codec is Compression.GZIP:
        names.append("broker-gzip-0")
    for name in names:
        payloads = golden_payloads(name)
        assert len(payloads) == 3
        for payload in payloads:
            # 20 records, of which a few have no value.
            assert 17 <= bytes(decompress(codec, payload)).count(b"v" * 40) <= 20


def test_lz4_gives_the_same_bytes_as_the_client_whose_batches_kafka_stored() -> None:
    for payload in golden_payloads("codec-lz4-0"):
        assert compress(Compression.LZ4, decompress(Compression.LZ4, payload)) == payload


def test_gzip_begins_as_what_the_broker_compressed() -> None:
    # The bytes after the header are zlib's choice, of which there are several.
    for payload in golden_payloads("broker-gzip-0"):
        ours = compress(Compression.GZIP, decompress(Compression.GZIP, payload))
        assert ours[:10] == payload[:10]


def test_zstd_ends_with_an_empty_block_as_what_java_compresses() -> None:
    frame = bytes(compress(Compression.ZSTD, TEXT))
    assert frame.endswith(b"\x01\x00\x00")


def test_number_that_is_no_codec_is_a_mistake() -> None:
    # `BatchHeader.compression` refuses such numbers before they come here.
    with pytest.raises(AssertionError):
        compress(5, b"")  # type: ignore[arg-type]  # on purpose.
    with pytest.raises(AssertionError):
        decompress(5, b"")  # type: ignore[arg-type]  # on purpose.

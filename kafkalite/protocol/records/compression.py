"""The four codecs of record batches, in the framings that Kafka's Java client reads and writes.

    codec   framing written                              read besides
    gzip    one member                                   several members; bytes after the last
    snappy  xerial: a 16-byte header, then blocks of     one raw block; xerial streams in a row
            at most 32 KiB, each after its int32 length
    lz4     frame of independent 64 KiB blocks, no       any frame but one of linked blocks,
            content size, no checksums                   which Java refuses
    zstd    one frame without its content size, an       several frames
            empty block at its end

Compressed bytes come from strangers, so `decompress` stops at a limit: what it allocates is bounded
by the limit, or by the input, and one block. The libraries are imported at first use, as they would
cost a start 20 ms (docs/decisions/0002-compression-libraries.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import assert_never

from kafkalite.errors import CorruptRecordError

Buffer = bytes | bytearray | memoryview

DEFAULT_LIMIT_BYTES = 2_147_483_639
"""Kafka's default of `max.decompressed.message.bytes`: the longest array that Java can hold."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
"""The magic, then the version and the oldest version that can read it."""
_XERIAL_BLOCK_SIZE = 32 * 1024
_SNAPPY_MAX_EXPANSION = 22
"""No snappy element makes more than 64 bytes of 3: a larger claim is refused unallocated."""
_CHUNK_LENGTH = Struct(">i")

_LZ4_FAST_LEVEL = 9
"""Where Kafka's writer takes the fast compressor; its other levels are those of the slow one."""
_LZ4_INDEPENDENT_BLOCKS = 0x20
_LZ4_FLAGS_POSITION = 4

_ZSTD_LEVEL = 3
_ZSTD_LEAST_FRAME = 6
_ZSTD_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
"""Of a frame that holds nothing for the reader; the byte before it is 0x50 to 0x5F."""
_ZSTD_CHECKSUM_FLAG = 0x04
_ZSTD_RLE_BLOCK = 1
_GZIP_LEVEL = -1
_GZIP_WINDOW = 31
"""zlib's number for: 32 KiB window, gzip header and trailer."""
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_SYSTEM_POSITION = 9
_GZIP_UNKNOWN_SYSTEM = 0xFF
"""What Java names as the operating system."""
_BLOCK_SIZE = 256 * 1024
_INPUT_SIZE = 16 * 1024


class Compression(IntEnum):
    """The codec number in the low three bits of a batch's attributes. 5 to 7 are not assigned."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressionError(CorruptRecordError):
    """Compressed bytes that are not what their codec says."""


class DecompressedTooLargeError(CorruptRecordError):
    """Compressed bytes that would grow past the limit."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"records decompress to more than {limit_bytes} bytes")


def compress(codec: Compression, data: Buffer, level: int | None = None) -> Buffer:
    """`data` in the framing of `codec`; `data` itself for NONE.

    `level` is the topic's `compression.<codec>.level`; None: Kafka's default. Snappy has none.
    """
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return _compress_gzip(data, _GZIP_LEVEL if level is None else level)
        case Compression.SNAPPY:
            return _compress_snappy(data)
        case Compression.LZ4:
            return _compress_lz4(data, _LZ4_FAST_LEVEL if level is None else level)
        case Compression.ZSTD:
            return _compress_zstd(data, _ZSTD_LEVEL if level is None else level)
        case _:
            assert_never(codec)


def decompress(codec: Compression, data: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Buffer:
    """What `data` holds, at most `limit_bytes`; for NONE `data` itself, of any size, as in Kafka.

    `DecompressedTooLargeError` past the limit, `DecompressionError` for bytes that are not the
    codec's or end early: both are `CorruptRecordError`. The real Kafka decides which bytes those
    are; but of an lz4 frame that has a content checksum it never looks at that, and here it counts.
    """
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return _decompress_gzip(data, limit_bytes)
        case Compression.SNAPPY:
            return _decompress_snappy(data, limit_bytes)
        case Compression.LZ4:
            return _decompress_lz4(data, limit_bytes)
        case Compression.ZSTD:
            return _decompress_zstd(data, limit_bytes)
        case _:
            assert_never(codec)


def decompress_pieces(codec: Compression, data: Buffer, limit_bytes: int) -> Iterator[Buffer]:
    """As `decompress`, in pieces of bounded size that are made as they are asked for: an error may
    come after some."""
    left_bytes = limit_bytes
    for piece in _pieces(codec, data, limit_bytes):
        left_bytes -= len(piece)
        if left_bytes < 0:
            raise DecompressedTooLargeError(limit_bytes)
        yield piece


def _pieces(codec: Compression, data: Buffer, limit_bytes: int) -> Iterator[Buffer]:
    """How `decompress` begins, but for the limit; snappy's one block may be as large as that."""
    match codec:
        case Compression.NONE:
            return iter((data,))
        case Compression.GZIP:
            return _gzip_pieces(memoryview(data))
        case Compression.SNAPPY:
            return _snappy_pieces(data, limit_bytes)
        case Compression.LZ4:
            return _lz4_pieces(data, limit_bytes)
        case Compression.ZSTD:
            return _zstd_pieces(data)
        case _:
            assert_never(codec)


def _compress_gzip(data: Buffer, level: int) -> bytearray:
    import zlib

    stream = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
    out = bytearray(stream.compress(data))
    out += stream.flush()
    out[_GZIP_SYSTEM_POSITION] = _GZIP_UNKNOWN_SYSTEM
    return out


def _decompress_gzip(data: Buffer, limit_bytes: int) -> bytearray:
    import zlib

    out = bytearray()
    rest: Buffer = data
    while True:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            out += member.decompress(rest, limit_bytes - len(out) + 1)
        except zlib.error as error:
            if rest is not data:
                return out  # Java takes what is no further member for padding.
            raise DecompressionError(f"gzip: {error}") from error
        if len(out) > limit_bytes:
            raise DecompressedTooLargeError(limit_bytes)
        if not member.eof:
            raise DecompressionError("gzip: the stream ends early")
        rest = member.unused_data
        if not rest.startswith(_GZIP_MAGIC):
            return out


def _gzip_pieces(data: memoryview) -> Iterator[bytes]:
    """The input goes in by small parts too: the library copies what it has not read at each
    call."""
    import zlib

    member = zlib.decompressobj(_GZIP_WINDOW)
    begin = at = 0
    while at < len(data):
        rest: Buffer = data[at : at + _INPUT_SIZE]
        at += len(rest)
        while True:
            try:
                piece = member.decompress(rest, _BLOCK_SIZE)
            except zlib.error as error:
                if begin:
                    return  # Java takes what is no further member for padding.
                raise DecompressionError(f"gzip: {error}") from error
            yield piece
            rest = member.unconsumed_tail
            if member.eof or (not rest and len(piece) < _BLOCK_SIZE):
                break
        if member.eof:
            begin = at = at - len(member.unused_data)
            if data[at : at + len(_GZIP_MAGIC)] != _GZIP_MAGIC:
                return
            member = zlib.decompressobj(_GZIP_WINDOW)
    raise DecompressionError("gzip: the stream ends early")


def _compress_snappy(data: Buffer) -> bytearray:
    from cramjam import snappy

    out = bytearray(_XERIAL_HEADER)
    with memoryview(data) as view:
        for start in range(0, len(view), _XERIAL_BLOCK_SIZE):
            block = memoryview(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_SIZE]))
            out += _CHUNK_LENGTH.pack(len(block))
            out += block
    return out


def _decompress_snappy(data: Buffer, limit_bytes: int) -> Buffer:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_snappy_block(memoryview(data), limit_bytes, limit_bytes)
    out = bytearray()
    for block in _snappy_pieces(data, limit_bytes):
        out += block
    return out


def _snappy_pieces(data: Buffer, limit_bytes: int) -> Iterator[Buffer]:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield _decompress_snappy_block(view, limit_bytes, limit_bytes)
        return
    left_bytes = limit_bytes
    position, end = 0, len(view)
    # Java passes over the last bytes when they are too few for a length.
    while end - position >= _CHUNK_LENGTH.size:
        if view[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            if position > end:
                raise DecompressionError("snappy: the header ends early")
            continue
        (size,) = _CHUNK_LENGTH.unpack_from(view, position)
        position += _CHUNK_LENGTH.size
        if not 0 <= size <= end - position:
            raise DecompressionError(f"snappy: a block of {size} bytes where {end - position} are")
        block = _decompress_snappy_block(view[position : position + size], left_bytes, limit_bytes)
        left_bytes -= len(block)
        yield block
        position += size


def _decompress_snappy_block(block: memoryview, left_bytes: int, limit_bytes: int) -> memoryview:
    from cramjam import DecompressionError as SnappyError
    from cramjam import snappy

    try:
        size = snappy.decompress_raw_len(block)
        if size > _SNAPPY_MAX_EXPANSION * len(block):
            raise DecompressionError(f"snappy: {len(block)} bytes cannot hold {size}")
        if size > left_bytes:
            raise DecompressedTooLargeError(limit_bytes)
        return memoryview(snappy.decompress_raw(block))
    except SnappyError as error:
        raise DecompressionError(str(error)) from error


def _compress_lz4(data: Buffer, level: int) -> bytes:
    from lz4 import frame

    compressed: bytes = frame.compress(
        data,
        compression_level=0 if level == _LZ4_FAST_LEVEL else level,
        block_size=frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _decompress_lz4(data: Buffer, limit_bytes: int) -> bytearray:
    out = bytearray()
    for block in _lz4_pieces(data, limit_bytes):
        out += block
        if len(out) > limit_bytes:
            raise DecompressedTooLargeError(limit_bytes)
    return out


def _lz4_pieces(data: Buffer, limit_bytes: int) -> Iterator[bytes]:
    from lz4 import frame

    if len(data) <= _LZ4_FLAGS_POSITION:
        raise DecompressionError("lz4: the frame ends early")
    if not data[_LZ4_FLAGS_POSITION] & _LZ4_INDEPENDENT_BLOCKS:
        raise DecompressionError("lz4: blocks are linked")
    stream = frame.LZ4FrameDecompressor()
    left_bytes = limit_bytes
    rest: Buffer = data
    # The library allocates what it may give and copies what it has not read: few, bounded steps.
    step = max(_BLOCK_SIZE, 8 * len(data))
    while not stream.eof:
        try:
            block = stream.decompress(rest, min(step, left_bytes + 1))
        except RuntimeError as error:
            raise DecompressionError(f"lz4: {error}") from error
        yield block
        left_bytes -= len(block)
        if not block and stream.needs_input and not stream.eof:
            raise DecompressionError("lz4: the frame ends early")
        rest = b""


def _compress_zstd(data: Buffer, level: int) -> bytes:
    import zstandard

    stream = zstandard.ZstdCompressor(level=level, write_content_size=False).compressobj()
    # Java flushes before it ends the frame, which makes the last block an empty one.
    block = stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return block + stream.flush()


def _decompress_zstd(data: Buffer, limit_bytes: int) -> bytearray:
    out = bytearray()
    for block in _zstd_pieces(data):
        out += block
        if len(out) > limit_bytes:
            raise DecompressedTooLargeError(limit_bytes)
    return out


def _zstd_pieces(data: Buffer) -> Iterator[bytes]:
    import zstandard

    # A frame may name a window of up to 128 MiB, as Java takes it; memory is touched as it fills.
    stream = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    try:
        while block := stream.read(_BLOCK_SIZE):
            yield block
        if not _ends_with_a_frame(memoryview(data)):
            raise DecompressionError("zstd: the frame ends early")
    except zstandard.ZstdError as error:
        raise DecompressionError(f"zstd: {error}") from error


def _ends_with_a_frame(data: memoryview) -> bool:
    """Whether the last zstd frame is whole, which the library does not tell.

    Walks over the blocks (RFC 8878, 3.1.1), which were decompressed: three bytes of header, whose
    first bit says that it is the last and the next two its type, then its content; after the last
    block a checksum, if the frame has one.
    """
    import zstandard

    position, end = 0, len(data)
    while position < end:
        if end - position < _ZSTD_LEAST_FRAME:
            return False
        if data[position + 1 : position + 4] == _ZSTD_SKIPPABLE_MAGIC:
            position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
            continue
        has_checksum = data[position + 4] & _ZSTD_CHECKSUM_FLAG
        position += zstandard.frame_header_size(data[position:])
        is_last = 0
        while not is_last and position < end:
            block = int.from_bytes(data[position : position + 3], "little")
            is_last = block & 1
            position += 3 + (1 if (block >> 1) & 3 == _ZSTD_RLE_BLOCK else block >> 3)
        if not is_last:
            return False
        position += 4 if has_checksum else 0
    return position == end

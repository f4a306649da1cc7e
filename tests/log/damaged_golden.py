"""A folder that Kafka wrote, damaged: it opens or is refused, and what is read of it was in it."""

from __future__ import annotations

from functools import cache
from random import Random  # noqa: TID251  # seeded: the same damage in each run.

from kafkalite.errors import CorruptRecordError, KafkaError
from kafkalite.log.files import read_part
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.verification import Verification
from kafkalite.protocol.records.batch import crc_is_valid, iter_headers
from kafkalite.types import Offset, TimestampMs
from tests.log.damage import do_damage, restored
from tests.log.golden_folders import NAMES, memory_copy, open_golden
from tests.log.trees import Tree, tree

TOLD = (CorruptRecordError, KafkaError, OSError)
"""What a broker takes a partition offline for, or answers with."""
MOST_READS = 2_000
_STAMPED = 16
"""The bytes of a batch that no CRC covers, but for the magic byte: offset, length, epoch."""


class WrongError(AssertionError):
    """What must not be."""


@cache
def _data(name: str) -> Tree:
    return tree(memory_copy(name))


@cache
def _batches(name: str) -> frozenset[bytes]:
    """What the CRC of each covers."""
    return frozenset(_read(open_golden(name, clean=True)))


def check_damaged_golden(seed: int, *, clean: bool) -> None:
    """One seed's damage to one folder. `WrongError`, or whatever nobody expects."""
    random = Random(seed)
    name = random.choice(NAMES)
    files = restored(_data(name))
    done = do_damage(files, _data(name), random)
    try:
        if not files.is_folder(name):
            return
        list(Verification(files).partition(name))
        for _ in range(2):  # What the first one mended or made worse, the second one finds.
            try:
                log = open_golden(name, clean=clean, files=files)
                found = _read(log)
                _look_up(log)
                log.close()
            except TOLD:
                return
            # No batch says which file it is of, and a snapshot has some too.
            has_other_batches = any(each.path.endswith(".checkpoint") for each in done)
            if not has_other_batches and not _batches(name).issuperset(found):
                raise WrongError(f"{name} has a batch that was not in it")
    except BaseException as error:
        error.add_note(f"seed {seed} on {name}: {', '.join(map(str, done))}")
        raise


def _read(log: PartitionLog) -> list[bytes]:
    """Each batch that passes its CRC, as a consumer reads them; one that does not ends it."""
    found: list[bytes] = []
    offset = log.log_start_offset
    for _ in range(MOST_READS):
        if offset >= log.end_offset:
            return found
        read = log.read(offset, max_bytes=100, max_offset=log.end_offset, first_batch_whole=True)
        if read.part is None:
            return found  # Compaction may take all that stands before the end.
        data = read_part(read.part)
        before = offset
        for position, header in iter_headers(data):
            if not crc_is_valid(data, position, header):
                return found
            found.append(bytes(data[position + _STAMPED : position + header.size_bytes]))
            offset = Offset(max(offset, header.next_offset))
        if offset == before:
            raise WrongError(f"nothing at {offset} of {log.end_offset}")
    raise WrongError("it has no end")


def _look_up(log: PartitionLog) -> None:
    for timestamp in (0, 1_700_000_005_000, 1_795_958_824_000, 1 << 60):
        log.offset_for_timestamp(TimestampMs(timestamp))
    log.offset_of_max_timestamp()

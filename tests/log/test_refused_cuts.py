"""A disk refuses one file operation of a cut, reads too: the first, the second, and so on, none
left out. The log is as it was then, or as it is to be; trying again, or whatever else writes,
brings the cut to an end; and what a crash leaves instead is a beginning of the log, which can be
cut.
"""

from __future__ import annotations

import errno
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.checkpoints import CLEANER_OFFSETS, RECOVERY_POINTS, read_offsets
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import restart_at, retire_below, truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import build_batch
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.crash_ends import End, every_end
from tests.log.log_fixtures import FOLDER, NOW, TOPIC_ID, append, idempotent, records, stored, taken
from tests.log.test_crash_points import CONFIG as TWO_A_SEGMENT
from tests.log.test_crash_points import ORDERS, directory_of

ONE_SEGMENT = TopicConfig(index_interval_bytes=1)
COMPACTED = TWO_A_SEGMENT._replace(cleanup_policy=("compact",))
ABORTING, LATEST_EPOCH = 7, LeaderEpoch(9)
RESTART = Offset(500)
MOST_OPERATIONS = 300


class RefusingFiles(ProcessFiles):
    """Refuses the operation that counts `left` down to zero, before it does anything."""

    left = 0

    def look(self) -> None:
        super().look()
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.EIO, "Input/output error")


@dataclass
class World:
    """A log and its disk."""

    disk: MemoryFiles
    files: RefusingFiles
    log: PartitionLog


@dataclass(frozen=True)
class Case:
    """Which log is cut, and how."""

    name: str
    config: TopicConfig
    to: int
    begins_anew: bool = False
    start: int = 0
    """What is below has gone, as far as whole segments are."""

    def cut(self, log: PartitionLog) -> None:
        (restart_at if self.begins_anew else truncate_to)(log, Offset(self.to), NOW)

    @property
    def recovery_point(self) -> Offset:
        """As the checkpoint has it before the cut."""
        return Offset(0 if self.begins_anew else min(self.to, SYNCED))


SYNCED = 8
CASES = (
    Case("one segment", ONE_SEGMENT, 5),
    Case("one segment, amid a batch", ONE_SEGMENT, 2),
    Case("one segment, to nothing", ONE_SEGMENT, 0),
    Case("several segments", TWO_A_SEGMENT, 5),
    Case("several segments, amid a batch", TWO_A_SEGMENT, 2),
    Case("several segments, the last one alone", TWO_A_SEGMENT, 9),
    Case("several segments that may have holes", COMPACTED, 5),
    Case("where a segment begins", TWO_A_SEGMENT, 6),
    Case("several segments, to nothing", TWO_A_SEGMENT, 0),
    Case("below all segments", TWO_A_SEGMENT, 1, start=6),
    Case("anew, far above", TWO_A_SEGMENT, RESTART, begins_anew=True),
    Case("anew, where a segment begins", TWO_A_SEGMENT, 6, begins_anew=True),
)
FEW = [CASES[at] for at in (1, 4, 9, 11)]
"""Of each kind one."""
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def opened(files: Files, case: Case, *, clean: bool = False, start: int = 0) -> PartitionLog:
    return open_log(
        files,
        FOLDER,
        config=case.config,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=clean,
        recovery_point=case.recovery_point,
        log_start_offset=Offset(start),
    )


def epoch_of(log: PartitionLog) -> LeaderEpoch:
    """What is not synced tells of no new one: its file would be new, too."""
    return LeaderEpoch(min(log.end_offset, SYNCED - 1) // 4)


def abort(log: PartitionLog, sequence: int) -> None:
    """Two records in a batch, and the marker."""
    producer, epoch = ProducerId(ABORTING), ProducerEpoch(0)
    batch = build_batch(
        records(NOW - 1, NOW - 2),
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    append(log, batch, epoch=epoch_of(log))
    marker = build_end_transaction_batch(
        EndTransactionMarker(False, 0),
        producer_id=producer,
        producer_epoch=epoch,
        timestamp=TimestampMs(NOW),
    )
    append_as_leader(
        log,
        memoryview(marker),
        leader_epoch=epoch_of(log),
        now=NOW,
        origin=AppendOrigin.COORDINATOR,
    )


def filled(case: Case) -> World:
    """One plain record, a transaction that is aborted, and so on; the last of it not synced."""
    disk = MemoryFiles(models_crashes=True)
    disk.make_folder("")
    files = RefusingFiles(disk, SeededEntropy(1), on_death=lambda: None)
    log = opened(files, case)
    for number in range(3):
        append(log, idempotent(number), epoch=epoch_of(log))
        abort(log, 2 * number)
        if log.end_offset == SYNCED:
            log.close()
            retire_below(log, Offset(case.start)).remove()
            log.sync()
            disk.sync_folder("")
    return World(disk, files, log)


def facts(log: PartitionLog) -> list[object]:
    """All that can be asked of it."""
    end = log.end_offset
    reads = []
    for offset in range(log.log_start_offset, end):
        found = log.read(
            Offset(offset),
            max_bytes=1 << 20,
            max_offset=end,
            first_batch_whole=True,
            tells_aborted=True,
        )
        reads.append((found.aborted, taken(found)))
    return [
        (log.log_start_offset, end, stored(log), log.epochs.starts, log.epochs.latest),
        reads,
        [(each.base_offset, each.end_offset, each.max_timestamp) for each in log.segments],
        log.offset_for_timestamp(NOW),
        log.producers.first_unstable_offset,
        log.producers.last_stable_offset(end),
        [
            (each.producer_id, each.last_timestamp, each.transaction_first_offset, *each.batches)
            for each in log.producers.active()
        ],
    ]


def refusals(case: Case) -> Iterator[World]:
    """After each refusal of an operation of the cut, and after none."""
    for nth in count(1):
        assert nth < MOST_OPERATIONS
        world = filled(case)
        world.files.left = nth
        with suppress(OSError):
            case.cut(world.log)
        was_refused = world.files.left <= 0
        world.files.left = 0
        yield world
        if not was_refused:
            assert nth > 10
            return


def reopened(world: World, case: Case, *, clean: bool) -> list[object]:
    """After a clean stop, or when the process has died and all that was not synced is gone."""
    start = world.log.log_start_offset
    if clean:
        world.log.close()
    else:
        world.files.die()
        world.disk.crash()
    return facts(opened(world.disk, case, clean=clean, start=start))


@every_case
def test_trying_again_brings_it_to_an_end(case: Case) -> None:
    before = facts(filled(case).log)
    undisturbed = filled(case)
    case.cut(undisturbed.log)
    expected, recovery_point = facts(undisturbed.log), undisturbed.log.recovery_point
    expected_again = reopened(undisturbed, case, clean=False)
    was_cut = []
    for world in refusals(case):
        was_cut.append(facts(world.log) == expected)
        assert was_cut[-1] or facts(world.log) == before
        case.cut(world.log)
        assert facts(world.log) == expected
        assert world.log.recovery_point == recovery_point
        assert reopened(world, case, clean=False) == expected_again
    assert not was_cut[0]
    assert was_cut.count(True) > 5


WRITES: dict[str, Callable[[PartitionLog], object]] = {
    "append": lambda log: append(log, idempotent(0, producer=3), epoch=LATEST_EPOCH),
    "epoch": lambda log: log.begin_epoch(LATEST_EPOCH),
    "roll": lambda log: log.roll(NOW),
    "sync": lambda log: log.sync(),
    "close": lambda log: log.close(),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_what_else_writes_brings_it_to_an_end_first(case: Case, name: str) -> None:
    write, clean = WRITES[name], name not in ("epoch", "sync")
    before = facts(filled(case).log)
    ends = {}
    for is_cut in (False, True):
        undisturbed = filled(case)
        if is_cut:
            case.cut(undisturbed.log)
        write(undisturbed.log)
        ends[is_cut] = facts(undisturbed.log), reopened(undisturbed, case, clean=clean)
    for world in refusals(case):
        expected, expected_again = ends[facts(world.log) != before]
        write(world.log)
        assert facts(world.log) == expected
        assert reopened(world, case, clean=clean) == expected_again


@every_end
@every_case
def test_what_a_crash_leaves_is_a_beginning_that_can_be_cut(case: Case, end: End) -> None:
    whole = filled(case).log
    undisturbed = filled(case).log
    case.cut(undisturbed)
    data, epochs = stored(whole), whole.epochs.starts
    known = set()
    for world in refusals(case):
        world.files.die()
        end.come(world.disk)
        left = pickle.dumps(world.disk)
        if left in known:
            continue
        known.add(left)
        log = opened(world.disk, case, start=whole.log_start_offset)
        found = stored(log)
        assert data.startswith(found)
        assert not found or log.first_segment_offset == whole.first_segment_offset
        if found:
            below = [each for each in epochs if each.start_offset < log.end_offset]
            assert list(log.epochs.starts) == below
        ends_at = log.end_offset
        case.cut(log)
        assert data.startswith(stored(log))
        if case.begins_anew or ends_at >= case.to:
            assert log.end_offset == case.to
            assert stored(log) == stored(undisturbed)
            assert log.epochs.starts == undisturbed.epochs.starts
        assert log.folder.is_ready
    assert len(known) > 1


@pytest.mark.parametrize("begins_anew", [False, True])
def test_checkpoints_tell_of_it_before(begins_anew: bool) -> None:
    """What was true of the records that are cut is not to be believed of those that come next."""
    to = RESTART if begins_anew else Offset(3)
    for nth in count(1):
        disk = MemoryFiles(models_crashes=True)
        files = RefusingFiles(disk, SeededEntropy(1), on_death=lambda: None)
        directory = directory_of(files)
        log = directory.open_partition(ORDERS, topic_id=TOPIC_ID, config=TWO_A_SEGMENT, now=NOW)
        for number in range(6):
            append(log, idempotent(number))
        log.sync()
        checkpoints = directory.checkpoints
        checkpoints.cleaner_offsets[ORDERS] = Offset(4)
        checkpoints.write_cleaner_offsets()
        checkpoints.write_recovery_points()
        files.left = nth
        cut = directory.restart_partition if begins_anew else directory.truncate_partition
        with suppress(OSError):
            cut(ORDERS, to, NOW)
        was_refused = files.left <= 0
        if log.end_offset == 6:
            cut(ORDERS, to, NOW)
        assert log.end_offset == to
        for path in (RECOVERY_POINTS, CLEANER_OFFSETS):
            assert read_offsets(disk, path)[ORDERS] <= (0 if begins_anew else to)
        if not was_refused:
            assert nth > 15
            return

"""What a metadata log has lost, told before anything of it is changed.

A crash tears the end off a log, and what it tears was never acknowledged. What else is missing was,
and whoever went on without it would have a cluster with fewer topics than its clients know. So a
log that ends before what is known of it is refused:

    a bad batch with sound ones behind it     damaged after it was written
    an end before its last clean stop's       cut, or an older copy
    no records, beside traces of a cluster    removed
    no topic of records that are there        cut after a crash

A partition without records is no such loss, for nothing of it is lost: the broker sets it aside as
a stray, as Kafka does. A loss of power leaves such folders, since nobody waits for the disk when a
topic is made.

Kafka differs: it cuts a damaged metadata log at the first bad batch, serves what is left, and sets
partitions of topics that it does not know any more aside as strays, whatever is in them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file, read_topic_id
from kafkalite.log.directory_set import Place
from kafkalite.log.files import Files
from kafkalite.log.folder_names import METADATA_PARTITION, offset_of, parse_partition
from kafkalite.log.producer_snapshots import SNAPSHOT_SUFFIX
from kafkalite.log.segment_indexes import LOG_SUFFIX
from kafkalite.stores.checkpoint import newest_checkpoint
from kafkalite.stores.replay import Replayed
from kafkalite.stores.soundness import examine
from kafkalite.types import Offset, TopicPartition, Uuid

QUORUM_STATE = "quorum-state"

_NAMES_TOLD = 3


class LostTopicsError(CorruptRecordError):
    """Records are there whose topics the metadata log does not know, and never knew."""

    def __init__(self, folders: list[str]) -> None:
        self.folders = folders
        more = len(folders) - _NAMES_TOLD
        self.names = ", ".join(folders[:_NAMES_TOLD]) + (f" and {more} more" if more > 0 else "")
        super().__init__(f"it does not have the topics of {self.names}")


def sound_end(files: Files, folder: str, *, clean: bool) -> Offset:
    """Where the log ends that can be believed. `CorruptRecordError` unless it is whole, or a crash
    can have left it so."""
    newest = newest_checkpoint(files, folder) if files.exists(folder) else None
    # What a snapshot has is not read any more.
    since = Offset(0) if newest is None else newest.end_offset
    end_offset, damage = examine(files, folder, clean=clean, since=since)
    if damage is not None and (clean or not damage.is_end):
        behind = "" if damage.is_end else ", with sound records behind that"
        raise CorruptRecordError(f"{damage.file} is damaged at byte {damage.position}{behind}")
    closed_at = _closed_at(files, folder)
    if end_offset < closed_at:
        raise CorruptRecordError(
            f"{folder} ends at offset {end_offset}, before the {closed_at} that its clean stop left"
        )
    if end_offset == 0:
        trace = _trace_of_a_cluster(files, folder)
        if trace:
            raise CorruptRecordError(f"{folder} has no records, and yet there is {trace}")
    return end_offset


def refuse_lost_topics(files: Files, found: Replayed, others: Iterable[Place] = ()) -> None:
    """`LostTopicsError` when a partition with records is there that the log has never told of, be
    it in one of the `others`: log folders beside that of the metadata log.

    For a log that a crash has left: each partition was made after its topic was in the log. After a
    loss of power a partition may be on the disk and the end of the log not. Then its topic was
    acknowledged and is lost; while the partition has no records, that is all that is.
    """
    lost = list(_unknown_with_records(files, found))
    for other in others:
        lost += (f"{other.location}/{name}" for name in _unknown_with_records(other.files, found))
    if lost:
        raise LostTopicsError(lost)


def _unknown_with_records(files: Files, found: Replayed) -> Iterator[str]:
    for name in files.list("") if files.exists("") else ():
        partition = parse_partition(name)
        if partition is None or partition == METADATA_PARTITION or not files.is_folder(name):
            continue
        if not _is_known(files, name, partition, found) and _has_records(files, name):
            yield name


def read_epoch(files: Files, path: str) -> int:
    """The epoch in a quorum's state; 0 without the file."""
    data = read_file(files, path)
    if data is None:
        return 0
    try:
        epoch = json.loads(data)["leaderEpoch"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRecordError(f"{path} is no quorum state: {error}") from error
    if not isinstance(epoch, int):
        raise CorruptRecordError(f"{path} has the epoch {epoch!r}")
    return epoch


def _is_known(files: Files, folder: str, partition: TopicPartition, found: Replayed) -> bool:
    topic_id = _topic_id(files, folder)
    if topic_id is None:
        topic = found.image.topics.get(partition.topic)
    elif topic_id in found.removed_topics:
        return True  # A crash came before its folder was removed.
    else:
        topic = found.image.topics_by_id.get(topic_id)
    return topic is not None and partition.partition < len(topic.partitions)


def _topic_id(files: Files, folder: str) -> Uuid | None:
    try:
        return read_topic_id(files, folder)
    except CorruptRecordError:
        return None  # Told when the partition is opened.


def _has_records(files: Files, folder: str) -> bool:
    return any(
        name.endswith(LOG_SUFFIX) and files.size(f"{folder}/{name}") > 0
        for name in files.list(folder)
    )


def _trace_of_a_cluster(files: Files, folder: str) -> str:
    """Something that only a cluster leaves that had a metadata log; empty when there is nothing."""
    if files.exists(folder):
        newest = newest_checkpoint(files, folder)
        if newest is not None:
            return f"the snapshot {newest.name}"
        epoch = read_epoch(files, f"{folder}/{QUORUM_STATE}")
        if epoch > 0:
            return f"epoch {epoch} in {QUORUM_STATE}"
    for name in files.list("") if files.exists("") else ():
        if parse_partition(name) not in (None, METADATA_PARTITION) and files.is_folder(name):
            return f"the partition {name}"
    return ""


def _closed_at(files: Files, folder: str) -> Offset:
    """Where the log ended when it was closed: the newest snapshot of producers names it."""
    names = files.list(folder) if files.exists(folder) else []
    offsets = [offset_of(name) for name in names if name.endswith(SNAPSHOT_SUFFIX)]
    return max((offset for offset in offsets if offset is not None), default=Offset(0))

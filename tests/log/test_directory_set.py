"""All log folders of a broker: whose they are, which takes a new partition, which has failed.

Which folders keep the real broker from starting, and the order in which it fills them, is as it
did when it was asked.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet, FailedFolder, Place
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.meta_properties import META_PROPERTIES, LogDirectoryError, Meta, format_meta
from kafkalite.types import BrokerId, TopicPartition, Uuid
from tests.log.refusing_disk import RefusingDisk

NODE = BrokerId(1)


def places(*disks: Files) -> list[Place]:
    return [Place(f"/{'abc'[index]}", disk) for index, disk in enumerate(disks)]


def open_set(*disks: Files) -> DirectorySet:
    return DirectorySet.open(
        places(*disks),
        node_id=NODE,
        new_cluster_id="the-cluster",
        new_directory_ids=[Uuid(bytes([index + 7]) * 16) for index in range(len(disks))],
        record_validation="header",
        producer_expiration_ms=1000,
    )


def abandon(directories: DirectorySet) -> None:
    for directory in directories.live:
        directory.abandon()


def refusal(*disks: Files) -> str:
    with pytest.raises(LogDirectoryError) as caught:
        open_set(*disks)
    return str(caught.value)


def locations(directories: Sequence[LogDirectory]) -> list[str]:
    return [directory.location for directory in directories]


def partition(index: int) -> TopicPartition:
    return TopicPartition("t", index)


def fill(directories: DirectorySet, count: int) -> list[str]:
    """The folders that so many new partitions go to."""
    chosen = []
    for index in range(count):
        directory = directories.choose()
        directories.settle(partition(index), directory)
        chosen.append(directory.location)
    return chosen


def test_new_folders_are_of_one_cluster_and_each_has_its_id() -> None:
    directories = open_set(MemoryFiles(), MemoryFiles(), MemoryFiles())
    metas = [directory.claimed.meta for directory in directories.live]
    assert {(meta.node_id, meta.cluster_id) for meta in metas} == {(NODE, "the-cluster")}
    assert len(set(directories.ids)) == 3
    assert directories.metadata.location == "/a"
    assert directories.find(directories.ids[1]) is directories.live[1]
    assert directories.find(Uuid(bytes(16))) is None


def test_a_folder_that_is_added_gets_the_cluster_of_the_first() -> None:
    first = MemoryFiles()
    first.make_folder("")
    first.replace(META_PROPERTIES, format_meta(Meta(NODE, "older", Uuid(b"i" * 16))))
    directories = open_set(first, MemoryFiles())
    assert directories.live[1].claimed.meta.cluster_id == "older"


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (Meta(BrokerId(7), "the-cluster", Uuid(b"i" * 16)), "belongs to node 7, not to 1"),
        (Meta(NODE, "zzz", Uuid(b"i" * 16)), "/b belongs to the cluster zzz, and /a to the-clus"),
        (Meta(NODE, "the-cluster", Uuid(bytes([7]) * 16)), "/a and /b have the same directory.id"),
    ],
)
def test_a_folder_of_somebody_else_is_refused(meta: Meta, message: str) -> None:
    first, second = MemoryFiles(), MemoryFiles()
    second.make_folder("")
    second.replace(META_PROPERTIES, format_meta(meta))
    assert message in refusal(first, second)
    assert not first.list(""), "nothing is left of the start"
    assert second.list("") == [".lock", META_PROPERTIES]
    abandon(open_set(first))


def test_what_was_refused_is_left_as_it_was() -> None:
    first, second = MemoryFiles(), MemoryFiles()
    for directory in open_set(first, second).live:
        directory.claimed.record_clean_stop(directory.claimed.broker_epoch)
        directory.abandon()
    second.replace(META_PROPERTIES, b"rubbish")
    assert "is damaged" in refusal(first, second)
    assert first.exists(CLEAN_SHUTDOWN)


def test_the_folder_with_the_fewest_partitions_takes_the_next() -> None:
    directories = open_set(MemoryFiles(), MemoryFiles(), MemoryFiles())
    assert fill(directories, 5) == ["/a", "/b", "/c", "/a", "/b"]
    directories.forget(partition(0))
    directories.forget(partition(3))
    assert directories.choose().location == "/a"


def test_cordoned_folders_take_none_unless_all_are() -> None:
    directories = open_set(MemoryFiles(), MemoryFiles(), MemoryFiles())
    directories.cordon(["/a", "/c"])
    assert [directories.is_cordoned(f"/{name}") for name in "abc"] == [True, False, True]
    assert fill(directories, 3) == ["/b", "/b", "/b"]
    directories.cordon(["*"])
    assert directories.is_cordoned("/b")
    assert directories.choose().location == "/a"
    directories.cordon([])
    assert not directories.is_cordoned("/a")


def test_partitions_are_found_where_they_are() -> None:
    disks = MemoryFiles(), MemoryFiles()
    abandon(open_set(*disks))
    disks[1].make_folder("t-1")
    directories = open_set(*disks)
    home = directories.home(partition(1))
    assert home is directories.live[1] is directories.of(partition(1))
    assert directories.home(partition(0)) is directories.of(partition(0)) is None
    abandon(directories)
    disks[0].make_folder("t-1")
    assert refusal(*disks) == ("t-1 is in two log folders, /a and /b: remove one of them")


def test_one_folder_is_everybodys() -> None:
    directories = open_set(MemoryFiles())
    assert not directories.are_several
    assert directories.home(partition(0)) is None
    assert directories.of(partition(0)) is directories.choose() is directories.metadata


def test_a_folder_that_cannot_be_used_at_the_start_has_failed() -> None:
    broken = RefusingDisk()
    broken.error = errno.EIO
    directories = open_set(MemoryFiles(), broken, MemoryFiles())
    assert locations(directories.live) == ["/a", "/c"]
    assert directories.failed == [FailedFolder("/b", "[Errno 5] error 5")]
    with pytest.raises(OSError, match="error 5"):
        open_set(broken, MemoryFiles())


@pytest.mark.parametrize("unreadable", ["", "recovery-point-offset-checkpoint"])
def test_so_has_one_of_which_a_part_cannot_be_read(unreadable: str) -> None:
    first, second = MemoryFiles(), RefusingDisk()
    directories = open_set(first, second)
    directories.live[1].checkpoints.write({})
    abandon(directories)
    second.error, second.only = errno.EIO, unreadable
    directories = open_set(first, second)
    assert locations(directories.live) == ["/a"]
    assert [failed.location for failed in directories.failed] == ["/b"]
    second.error = None
    second.lock(".lock").release()


def test_what_a_failed_folder_held_is_lost_until_it_is_forgotten() -> None:
    directories = open_set(MemoryFiles(), MemoryFiles())
    fill(directories, 4)
    failed = directories.live[1]
    assert directories.fail(failed, OSError(5, "broken")) == [partition(1), partition(3)]
    assert locations(directories.live) == ["/a"]
    assert [directories.is_lost(partition(index)) for index in range(4)] == [0, 1, 0, 1]
    assert directories.of(partition(1)) is None
    directories.forget(partition(1))
    assert not directories.is_lost(partition(1))
    assert directories.choose().location == "/a"


@pytest.mark.parametrize(
    ("met", "probed", "has_failed"),
    [
        (errno.EIO, None, True),
        (errno.EROFS, None, True),
        (errno.ENOSPC, errno.EIO, False),
        (errno.EDQUOT, errno.EIO, False),
        (errno.EFBIG, errno.EIO, False),
        (errno.EMFILE, errno.EIO, False),
        (errno.ENFILE, errno.EIO, False),
        (errno.ENOMEM, errno.EIO, False),
        (errno.ENOENT, None, False),
        (errno.ENOENT, errno.ENOENT, True),
        (errno.EACCES, errno.EROFS, True),
        (errno.EACCES, errno.ENOSPC, False),
    ],
)
def test_which_errors_mean_that_a_folder_has_failed(
    met: int, probed: int | None, *, has_failed: bool
) -> None:
    disk = RefusingDisk()
    directories = open_set(disk)
    before = disk.list("")
    disk.error = probed
    assert directories.has_failed(directories.live[0], OSError(met, "met")) == has_failed
    disk.error = None
    assert disk.list("") == before

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.metadata.availability import Leader, availability
from kafkalite.metadata.image import UNASSIGNED_DIRECTORY, PartitionImage
from kafkalite.types import NO_LEADER, BrokerId, LeaderEpoch, Uuid
from tests.metadata.sample_changes import image_of, registration, uuid

FENCED, NAMELESS, GONE = 2, 3, 4
IMAGE = image_of(registration(1), registration(FENCED, fenced=True), registration(NAMELESS))
NAMELESS_BROKER = IMAGE.brokers[BrokerId(NAMELESS)]._replace(endpoints=())
SEEN = IMAGE._replace(brokers={**IMAGE.brokers, BrokerId(NAMELESS): NAMELESS_BROKER})


def led_by(leader: int, *, directories: tuple[Uuid, ...] = ()) -> PartitionImage:
    replicas = tuple(map(BrokerId, (GONE, NAMELESS, FENCED, 1)))
    return PartitionImage(replicas, replicas, BrokerId(leader), LeaderEpoch(0), 0, directories)


@pytest.mark.parametrize(
    ("leader", "told"),
    [
        (1, Leader(ErrorCode.NONE, BrokerId(1))),
        (FENCED, Leader(ErrorCode.NONE, BrokerId(FENCED))),
        (NAMELESS, Leader(ErrorCode.LISTENER_NOT_FOUND, NO_LEADER)),
        (GONE, Leader(ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER)),
        (NO_LEADER, Leader(ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER)),
    ],
)
def test_whom_a_client_is_told(leader: int, told: Leader) -> None:
    assert availability(SEEN, "PLAINTEXT").leader(led_by(leader)) == told


def test_older_clients_know_no_missing_listener() -> None:
    code = ErrorCode.LEADER_NOT_AVAILABLE
    seen = availability(SEEN, "PLAINTEXT", without_listener=code)
    assert seen.leader(led_by(NAMELESS)) == Leader(code, NO_LEADER)


def test_what_cannot_be_reached_is_offline() -> None:
    assert availability(SEEN, "PLAINTEXT").offline(led_by(1)) == [GONE, NAMELESS, FENCED]
    assert availability(SEEN, "OTHER").offline(led_by(1)) == [GONE, NAMELESS, FENCED, 1]


def test_what_is_in_a_folder_that_failed_is_offline() -> None:
    has = SEEN.brokers[BrokerId(1)]._replace(log_dirs=(uuid(7),))
    seen = availability(SEEN._replace(brokers={has.id: has}), "PLAINTEXT")
    there = led_by(1, directories=(uuid(4), uuid(5), uuid(6), uuid(7)))
    failed = led_by(1, directories=(uuid(4), uuid(5), uuid(6), uuid(8)))
    assert 1 not in seen.offline(there)
    assert 1 in seen.offline(failed)


@pytest.mark.parametrize(
    ("folders", "directories", "offline"),
    [
        ((7, 8), (uuid(7), uuid(8)), []),
        ((7, 8), (uuid(7), uuid(9)), [2]),
        ((7, 8), (uuid(9), UNASSIGNED_DIRECTORY), [1]),
        ((7, None), (uuid(9), uuid(9)), [1]),
        ((None, None), (uuid(9), uuid(9)), []),
    ],
)
def test_where_all_brokers_live_a_folder_may_have_failed(
    folders: tuple[int | None, int | None], directories: tuple[Uuid, ...], offline: list[int]
) -> None:
    """Brokers 1 and 2 have one each; None: it tells of none, as over ZooKeeper."""
    image = image_of(registration(1), registration(2))
    brokers = {
        id: image.brokers[id]._replace(log_dirs=() if folder is None else (uuid(folder),))
        for id, folder in zip(map(BrokerId, (1, 2)), folders, strict=True)
    }
    replicas = (BrokerId(1), BrokerId(2))
    partition = PartitionImage(replicas, replicas, BrokerId(1), LeaderEpoch(0), 0, directories)
    seen = availability(image._replace(brokers=brokers), "PLAINTEXT")
    assert seen.offline(partition) == offline

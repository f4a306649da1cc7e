"""Log folders belong to one cluster, whichever keeps its metadata."""

from __future__ import annotations

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.log.directory_set import Place
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.server.storage import Storage
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.clock import SteerableClock

OURS, ANOTHER = "ours-AAAAAAAAAAAAAAAAA", "another-AAAAAAAAAAAAAA"


def opened(files: MemoryFiles, cluster_id: str) -> Storage:
    clock = SteerableClock()
    store = MemoryStore(cluster_id, clock)
    return Storage(BrokerConfig(), [Place("here", files)], clock, SeededEntropy(1), store=store)


def test_a_new_folder_joins_the_cluster_and_no_other_takes_it() -> None:
    files = MemoryFiles()
    first = opened(files, OURS)
    assert first.directory.claimed.meta.cluster_id == OURS
    first.abandon()
    with pytest.raises(LogDirectoryError) as refused:
        opened(files, ANOTHER)
    assert str(refused.value) == (
        f"the log folder here belongs to the cluster {OURS}, and this is the cluster {ANOTHER}"
    )
    again = opened(files, OURS)
    again.abandon()


def test_a_folder_stays_in_its_cluster_and_a_wish_for_another_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files, clock = MemoryFiles(), SteerableClock()
    for wished in (OURS, OURS, ANOTHER):
        assert not caplog.messages, "a new folder, and one that has this id already"
        config = BrokerConfig.of({"kafkalite.cluster.id": wished})
        storage = Storage(config, [Place("here", files)], clock, SeededEntropy(1), store=None)
        assert storage.store.cluster_id == OURS
        storage.abandon()
    assert caplog.messages == [
        f"the log folder here belongs to the cluster {OURS}, and stays there: the cluster id "
        f"{ANOTHER} is for new folders"
    ]

"""What one broker has on its disks: its log folders, and the metadata of a cluster of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.features import formatted_with
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet, Place
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.metadata.store import MetadataStore
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.stores.memory import MemoryStore
from kafkalite.stores.metadata_limits import MetadataLogLimits
from kafkalite.stores.metadata_log import MetadataLog
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch, Offset, TopicPartition, Uuid, format_uuid

if TYPE_CHECKING:
    from kafkalite.log.clean_stop import Round

_log = logging.getLogger(__name__)

SYNCS_AT_ONCE = 16
"""A disk writes what several wait for in one go."""


class Storage:
    """Open from the first moment until `close` or `abandon`."""

    def __init__(
        self,
        config: BrokerConfig,
        places: Sequence[Place],
        clock: Clock,
        entropy: Entropy,
        *,
        store: MetadataStore | None,
    ) -> None:
        """Without `store` the broker is a cluster of its own, whose metadata log stands in the
        first folder. `LogDirectoryError` when a folder must not be used; `CorruptRecordError`,
        `ProtocolError` or `InvariantError` for a metadata log that must not."""
        self._owned_store: MemoryStore | None = None
        self.metadata_log: MetadataLog | None = None
        """Of a cluster of its own."""
        self.directories = DirectorySet.open(
            places,
            node_id=config.node_id,
            new_cluster_id=_cluster_id(config, entropy, store),
            new_directory_ids=[entropy.uuid() for _ in places],
            record_validation="full" if config.kafkalite_record_validation == "full" else "header",
            producer_expiration_ms=config.producer_id_expiration_ms,
        )
        for directory in self.directories.live:
            directory.opener.jitter_seed = int.from_bytes(entropy.token_bytes(8), "big")
        if store is not None:
            try:
                _check_cluster(self.directories.live, store)
            except BaseException:
                self.abandon(is_untouched=True)
                raise
        self.removed_topics: frozenset[Uuid] = frozenset()
        """Ids of topics that are known to have been deleted. Their folders may still be there."""
        if store is None:
            try:
                store = self._owned_store = self._open_store(config, places[0], clock)
            except BaseException:
                self.abandon(is_untouched=True)
                raise
            _warn_of_another_id(config, self.directory)
        self.store = store

    @property
    def directory(self) -> LogDirectory:
        """The folder with the metadata log."""
        return self.directories.metadata

    @property
    def previous_broker_epoch(self) -> BrokerEpoch:
        """The broker's at its last stop, if that was a clean one of all its folders; else -1."""
        epochs = {directory.claimed.broker_epoch for directory in self.directories.live}
        return epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH

    def _open_store(self, config: BrokerConfig, place: Place, clock: Clock) -> MemoryStore:
        directory = self.directory
        limits = MetadataLogLimits.of(config)
        log = self.metadata_log = MetadataLog.open(
            place.files,
            others=[Place(each.location, each.files) for each in self.directories.live[1:]],
            node_id=config.node_id,
            directory_id=directory.id,
            now=clock.now_ms(),
            clean=directory.claimed.was_clean,
            formatted_with=formatted_with(config.topic_defaults.min_insync_replicas),
            syncs=config.kafkalite_fsync,
            limits=limits.in_memory() if isinstance(place.files, MemoryFiles) else limits,
        )
        self.removed_topics = log.removed_topics
        return MemoryStore(directory.claimed.meta.cluster_id, clock, log)

    def sync_metadata(self) -> None:
        """Before records are synced: their topic must not be lost while they are there.
        `LogFolderFailedError` when the disk refuses."""
        if self._owned_store is not None:
            self._owned_store.sync()

    def close_store(self) -> None:
        """No more changes of the metadata, if they are kept here."""
        if self._owned_store is not None:
            self._owned_store.close()

    async def close(
        self,
        workers: Workers,
        *,
        broker_epoch: BrokerEpoch,
        high_watermarks: Mapping[TopicPartition, Offset],
    ) -> None:
        """Close every log, and put the clean stop on record: see `LogDirectory.close`."""
        refusal: OSError | None = None
        for directory in self.directories.live:
            try:
                for parts in directory.close(
                    broker_epoch=broker_epoch, high_watermarks=high_watermarks
                ):
                    shares = [parts[n::SYNCS_AT_ONCE] for n in range(SYNCS_AT_ONCE) if parts[n:]]
                    await asyncio.gather(*(workers.run(_run_all, share) for share in shares))
            except OSError as error:  # The other folders are to be closed all the same.
                refusal = refusal or error
        if refusal is not None:
            raise refusal

    def abandon(self, *, is_untouched: bool = False) -> None:
        """Let go of it, as a crash would leave it; or, when nothing was done with it, as it was
        found."""
        with ExitStack() as end:
            for directory in self.directories.live:
                end.callback(directory.abandon)
                if is_untouched:
                    end.callback(directory.claimed.undo)
            end.callback(self.close_store)


def _warn_of_another_id(config: BrokerConfig, directory: LogDirectory) -> None:
    """Kafka's images do not start then: `kafka-storage format` refuses such a folder."""
    wished, has = config.kafkalite_cluster_id, directory.claimed.meta.cluster_id
    if wished and wished != has:
        _log.warning(
            "the log folder %s belongs to the cluster %s, and stays there: the cluster id %s is "
            "for new folders",
            directory.location, has, wished,
        )  # fmt: skip


def _cluster_id(config: BrokerConfig, entropy: Entropy, store: MetadataStore | None) -> str:
    """For new folders."""
    if store is not None:
        return store.cluster_id
    return config.kafkalite_cluster_id or format_uuid(entropy.uuid())


def _check_cluster(live: Sequence[LogDirectory], store: MetadataStore) -> None:
    for directory in live:
        cluster_id = directory.claimed.meta.cluster_id
        if cluster_id != store.cluster_id:
            raise LogDirectoryError(
                f"the log folder {directory.location} belongs to the cluster {cluster_id}, and"
                f" this is the cluster {store.cluster_id}"
            )


def _run_all(parts: Round) -> None:
    part: Callable[[], None]
    for part in parts:
        part()

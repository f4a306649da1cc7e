"""What any cluster has in ZooKeeper before its first broker registers: folders, its id, features.

Each broker makes what is missing when it starts, as Kafka's `KafkaZkClient.createTopLevelPaths`
does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkalite.ports.zookeeper import (
    Connected,
    Create,
    Done,
    Expired,
    Failure,
    Node,
    Refused,
    ZooKeeper,
    ZooKeeperEvent,
    ZooKeeperSession,
)
from kafkalite.stores import znodes

_log = logging.getLogger(__name__)


def found_cluster(
    zookeeper: ZooKeeper, new_cluster_id: str, on_found: Callable[[str], None]
) -> ZooKeeperSession:
    """Make what is missing, and call back once with the cluster's id: `new_cluster_id` where there
    was none. Takes as long as it takes to reach ZooKeeper; to give up, close the session, which is
    closed by itself in the end."""
    return _Founding(zookeeper, new_cluster_id, on_found).session


class _Founding:
    def __init__(
        self, zookeeper: ZooKeeper, new_cluster_id: str, on_found: Callable[[str], None]
    ) -> None:
        self._on_found = on_found
        self._new_cluster_id = new_cluster_id
        self.session = zookeeper.open_session(self._told)

    def _told(self, event: ZooKeeperEvent) -> None:
        if isinstance(event, Connected):
            self._make()
        elif isinstance(event, Expired):
            _log.warning("ZooKeeper ended the session while the cluster's folders were made")

    def _make(self) -> None:
        """Each by itself, since most are there; the folders above come first, and so are made
        first."""
        wanted = [Create(path) for path in znodes.PERSISTENT]
        wanted.append(Create(znodes.FEATURE, znodes.write_feature()))
        wanted.append(Create(znodes.CLUSTER_ID, znodes.write_cluster_id(self._new_cluster_id)))
        for create in wanted:
            self.session.multi([create], self._made)
        self.session.get(znodes.CLUSTER_ID, self._read)

    def _made(self, result: tuple[Done, ...] | Refused) -> None:
        if isinstance(result, Refused) and result.failure is not Failure.NODE_EXISTS:
            _log.warning("ZooKeeper: %s (%s)", result.failure.value, result.operation)

    def _read(self, found: Node | Failure) -> None:
        if isinstance(found, Node):
            self.session.close()
            self._on_found(znodes.read_cluster_id(found.data))
        elif found is not Failure.CONNECTION_LOST:
            _log.error("ZooKeeper does not tell the cluster's id: %s", found.value)

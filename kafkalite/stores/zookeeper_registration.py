"""A broker's place under `/brokers/ids`: an ephemeral znode, which goes with the session.

Source: Kafka's `KafkaZkClient.registerBroker` and `CheckedEphemeral`.
"""

from __future__ import annotations

import logging

from kafkalite.metadata.store import BrokerRegistration
from kafkalite.ports.clock import Clock
from kafkalite.ports.zookeeper import Create, Delete, Done, Operation, Refused, ZooKeeperSession
from kafkalite.stores import znodes
from kafkalite.stores.znodes import BrokerNode
from kafkalite.stores.znodes_reader import ZnodesReader
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import BrokerId

_log = logging.getLogger(__name__)


class ZooKeeperRegistration:
    """Of one session."""

    def __init__(
        self,
        broker_id: BrokerId,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        reader: ZnodesReader,
        clock: Clock,
    ) -> None:
        self._broker_id = broker_id
        self._zookeeper = zookeeper
        self._view = view
        self._reader = reader
        self._clock = clock
        self._wanted: BrokerRegistration | None = None
        self._made: BrokerRegistration | None = None
        self._is_under_way = False

    def want(self, registration: BrokerRegistration) -> None:
        """`consider` it."""
        self._wanted = registration

    def again(self) -> None:
        """As a new life, with what was registered last. `consider` it."""
        if not self._is_under_way:
            self._wanted = self._wanted or self._made

    @property
    def is_seen(self) -> bool:
        """Whether the broker is alive, as far as the view goes."""
        node = self._view.node(znodes.broker_path(self._broker_id))
        return node is not None and node.stat.ephemeral_owner == self._zookeeper.id

    def consider(self) -> None:
        """Register what is wanted, as soon as nobody else is registered under that id."""
        wanted = self._wanted
        if wanted is None or self._is_under_way:
            return
        path = znodes.broker_path(self._broker_id)
        node = self._view.node(path)
        if node is not None and not self.is_seen:
            _log.warning(
                "Broker %d is registered by a session that is not over yet: waiting",
                self._broker_id,
            )
            return
        data = znodes.write_broker(
            BrokerNode(wanted.endpoints, wanted.features, wanted.rack), self._clock.now_ms()
        )
        operations: list[Operation] = [Create(path, data, ephemeral=True)]
        if node is not None:
            operations.insert(0, Delete(path))
        self._is_under_way = True
        self._wanted, self._made = None, wanted

        def done(result: tuple[Done, ...] | Refused) -> None:
            self._is_under_way = False
            if isinstance(result, Refused):
                self._wanted = self._wanted or wanted
                self._reader.children_changed(znodes.BROKER_IDS)

        self._zookeeper.multi(operations, done)

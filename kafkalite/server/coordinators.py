"""The coordinators of one broker, and the parts that only they need, made when they are needed.

Loading their code takes a fifth of what a start may take. So a broker listens first, and makes them
a moment later; a request that needs them sooner has them made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import InvariantError
from kafkalite.metadata.delta import MetadataDelta, whole
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.server.replica_manager import ReplicaManager

if TYPE_CHECKING:
    from kafkalite.server.group_coordinators import GroupCoordinators
    from kafkalite.server.producer_ids import ProducerIds
    from kafkalite.server.transaction_coordinators import AskElsewhere, TransactionCoordinators
    from kafkalite.server.transaction_markers import Markers, MarkerWriter


class CoordinatorParts(NamedTuple):
    """What handlers ask."""

    groups: GroupCoordinators
    transactions: TransactionCoordinators
    markers: MarkerWriter
    producer_ids: ProducerIds


class Coordinators:
    """Follow the metadata by `apply`, after the replica manager has."""

    def __init__(
        self,
        config: BrokerConfig,
        replicas: ReplicaManager,
        controller: ControllerDriver,
        clock: Clock,
        *,
        route_markers: Callable[[Markers], Markers] | None = None,
        ask_elsewhere: AskElsewhere | None = None,
    ) -> None:
        """`route_markers`: what also writes where other brokers lead, given what writes here;
        `ask_elsewhere`: asks coordinators of transactions elsewhere, see `VerificationRoutes`. None
        while there are no others."""
        self._config = config
        self._replicas = replicas
        self._controller = controller
        self._clock = clock
        self._route_markers = route_markers
        self._ask_elsewhere = ask_elsewhere
        self._parts: CoordinatorParts | None = None
        self._stopped = False

    @property
    def parts(self) -> CoordinatorParts:
        """Made now, if they were not. `InvariantError` when what their topics hold is broken."""
        if self._parts is None:
            self._parts = self._make()
            if self._stopped:
                self.stop()
            else:
                self.apply(self._replicas.image, whole(self._replicas.image))
        return self._parts

    def make(self, fail: Callable[[InvariantError], None]) -> None:
        """As `parts`, by nobody's request. `fail` is told of what that raises."""
        if not self._stopped:
            try:
                _ = self.parts
            except InvariantError as error:
                fail(error)

    def configure(self, config: BrokerConfig) -> None:
        """Act by these settings from now on, where they may change while the broker runs."""
        self._config = config
        if self._parts is not None:
            self._parts.transactions.configure(config)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Coordinate what `image` gives this broker."""
        if self._parts is not None:
            self._parts.groups.apply(image, delta)
            self._parts.transactions.apply(image, delta)
        elif delta.deleted and not self._stopped:
            # Commits go with their topic, and whoever reads them later could not tell that the
            # topic of that name is another one.
            self.parts.groups.forget(delta.deleted)

    def stop(self) -> None:
        """Refuse everyone who waits, and coordinate nothing more: the broker stops."""
        self._stopped = True
        if self._parts is not None:
            self._parts.transactions.stop()
            self._parts.groups.stop()

    def _make(self) -> CoordinatorParts:
        from kafkalite.server.group_coordinators import GroupCoordinators
        from kafkalite.server.producer_ids import ProducerIds, blocks_of
        from kafkalite.server.transaction_coordinators import TransactionCoordinators
        from kafkalite.server.transaction_markers import MarkerWriter

        config, replicas, clock = self._config, self._replicas, self._clock
        groups = GroupCoordinators(config, replicas, clock)
        markers = MarkerWriter(replicas, groups, clock)
        producer_ids = ProducerIds(
            blocks_of(self._controller, lambda: replicas.image.brokers.get(config.node_id))
        )
        transactions = TransactionCoordinators(
            config,
            replicas,
            clock,
            markers=self._route_markers(markers) if self._route_markers else markers,
            producer_ids=producer_ids,
            ask_elsewhere=self._ask_elsewhere,
        )
        return CoordinatorParts(groups, transactions, markers, producer_ids)

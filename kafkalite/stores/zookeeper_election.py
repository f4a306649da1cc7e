"""Who makes `/controller` is the controller, until that znode goes.

An election raises `/controller_epoch` in the same transaction; then everything is read anew, and
only then the term begins. A znode that is ours without a term, as one is after a commit that
failed, is removed, and the election begins again.

Source: Kafka's `KafkaZkClient.registerControllerAndIncrementControllerEpoch`.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.ports.clock import Clock
from kafkalite.ports.zookeeper import (
    Check,
    Create,
    Delete,
    Done,
    Failure,
    Operation,
    Refused,
    SetData,
    ZooKeeperSession,
)
from kafkalite.stores import znodes
from kafkalite.stores.znodes_reader import ZnodesReader
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.types import BrokerId, ControllerEpoch


class ZooKeeperElection:
    """Of one session."""

    def __init__(
        self,
        broker_id: BrokerId,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        reader: ZnodesReader,
        clock: Clock,
        *,
        on_elected: Callable[[ControllerEpoch, Check], None],
    ) -> None:
        """`on_elected` gets the epoch, and what fences the commits of its term."""
        self._broker_id = broker_id
        self._zookeeper = zookeeper
        self._view = view
        self._reader = reader
        self._clock = clock
        self._on_elected = on_elected
        self.is_candidate = False
        self._is_under_way = False
        self._won: ControllerEpoch | None = None
        """What follows it is being read."""

    @property
    def is_ours(self) -> bool:
        """Whether `/controller` is this session's, as far as the view goes."""
        node = self._view.node(znodes.CONTROLLER)
        return node is not None and node.stat.ephemeral_owner == self._zookeeper.id

    def consider(self, *, has_term: bool) -> None:
        """What is to be done, as the view stands."""
        if self._is_under_way:
            return
        if self.is_ours:
            if self._won is not None:
                self._begin(self._won)
            elif not has_term:
                self._write([Delete(znodes.CONTROLLER)])
            return
        self._won = None
        if self.is_candidate and self._view.node(znodes.CONTROLLER) is None:
            self._run()

    def _run(self) -> None:
        node = self._view.node(znodes.CONTROLLER_EPOCH)
        if node is None:
            self._write([Create(znodes.CONTROLLER_EPOCH, b"0")])
            return
        epoch = ControllerEpoch(self._view.image.epoch + 1)
        data = znodes.write_controller(self._broker_id, self._clock.now_ms())
        self._write(
            [
                Create(znodes.CONTROLLER, data, ephemeral=True),
                SetData(znodes.CONTROLLER_EPOCH, b"%d" % epoch, node.stat.version),
            ],
            epoch,
        )

    def _write(self, operations: list[Operation], epoch: ControllerEpoch | None = None) -> None:
        """Then look again; at everything, when the election is won."""

        def done(result: tuple[Done, ...] | Refused) -> None:
            self._is_under_way = False
            is_refused = isinstance(result, Refused)
            if isinstance(result, Refused) and result.failure in (
                Failure.CONNECTION_LOST,
                Failure.SESSION_OVER,
            ):
                return  # All is read anew after either.
            if is_refused or epoch is None:
                self._reader.changed(znodes.CONTROLLER)
                self._reader.changed(znodes.CONTROLLER_EPOCH)
            else:
                self._won = epoch
                self._reader.read_all()

        self._is_under_way = True
        self._zookeeper.multi(operations, done)

    def _begin(self, epoch: ControllerEpoch) -> None:
        """All was read anew since it was won."""
        self._won = None
        node = self._view.node(znodes.CONTROLLER_EPOCH)
        if self.is_candidate and node is not None and self._view.image.epoch == epoch:
            self._on_elected(epoch, Check(znodes.CONTROLLER_EPOCH, node.stat.version))
        else:
            self.consider(has_term=False)

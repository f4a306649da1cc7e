"""A broker's own settings, written by itself: while a Kafka 3.9 is the controller each broker
alters its own, and whoever is the controller hears of it as of what a tool has written.

They are written in the version that was decided on, and only while the broker is registered.

Kafka differs: of two who alter the settings of one broker at once over ZooKeeper the last wins, and
what the other has set is lost. Here it is decided again, on what the other has set.

Source: Kafka's `ZkAdminManager.alterBrokerConfigs`, `AdminZkClient.changeBrokerConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.zookeeper import Check, Refused, ZooKeeperSession
from kafkalite.stores import znodes
from kafkalite.stores.znodes_changes import ChangePlan
from kafkalite.stores.znodes_reader import ZnodesReader
from kafkalite.stores.znodes_view import ZnodesView
from kafkalite.stores.zookeeper_commit import ZnodesCommit
from kafkalite.types import BrokerId

A = TypeVar("A")
Decide = Callable[[MetadataImage], tuple[Sequence[Change], A]]
"""What is to change of an image, and what is answered when it has."""


class OwnSettings:
    """Of one session."""

    def __init__(
        self,
        broker_id: BrokerId,
        zookeeper: ZooKeeperSession,
        view: ZnodesView,
        reader: ZnodesReader,
        fold: Callable[[], object],
    ) -> None:
        """`fold` has watchers told of what is in the view."""
        self._zookeeper = zookeeper
        self._view = view
        self._reader = reader
        self._fold = fold
        self._registered = znodes.broker_path(broker_id)
        self._path = f"{znodes.CONFIG}/brokers/{broker_id}"

    def alter(self, decide: Decide[A], on_done: Callable[[A | KafkaError], None]) -> None:
        """`decide` on the newest image. `on_done` gets its answer when all is written and folded
        here, or NOT_CONTROLLER when it is to be tried again: another was faster, or the connection
        is lost, and perhaps it is done."""
        node = self._view.node(self._registered)
        if node is None:
            on_done(KafkaError(ErrorCode.NOT_CONTROLLER, "the broker is not registered"))
            return
        self._fold()
        image = self._view.image
        changes, answer = decide(image)
        operations = list(ChangePlan(self._view, changes, image.epoch).operations())

        def done(refused: Refused | None) -> None:
            if refused is None:
                self._fold()
                on_done(answer)
                return
            self._reader.read_config(self._path)
            on_done(KafkaError(ErrorCode.NOT_CONTROLLER, refused.failure.value))

        fence = Check(self._registered, node.stat.version)
        ZnodesCommit(self._zookeeper, self._view, operations, fence, done).send()

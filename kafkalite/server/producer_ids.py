"""Producer ids for this broker, handed out of blocks that the controller reserves (KIP-730).

A block is in the metadata log before its first id is given, so no id is given twice, whatever
crashes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kafkalite.controller.events import AllocateProducerIds, ProducerIdBlock
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import BrokerImage
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.types import ProducerId

OnId = Callable[[ProducerId | KafkaError], None]
OnBlock = Callable[[range | KafkaError], None]
AskBlock = Callable[[OnBlock], None]
"""Asks the controller for a block; the answer may come before the call returns, or later."""

MAX_WAITING = 1_000
"""Who wait for a block: as many as one has ids. More are refused, and try again."""


def blocks_of(controller: ControllerDriver, find_me: Callable[[], BrokerImage | None]) -> AskBlock:
    """Blocks from that controller. `find_me`: this broker as it is registered, None while it is
    not."""

    def ask(on_block: OnBlock) -> None:
        me = find_me()
        if me is None:
            on_block(KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "not registered yet"))
            return

        def on_reply(reply: ProducerIdBlock | KafkaError) -> None:
            if isinstance(reply, KafkaError):  # Clients ask again, whatever it is.
                on_block(KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, reply.message))
            else:
                on_block(range(reply.first, reply.first + reply.size))

        controller.submit(AllocateProducerIds(None, me.id, me.epoch), on_reply)

    return ask


class ProducerIds:
    """At most one request for a block is under way; who asks meanwhile waits for it."""

    def __init__(self, ask_block: AskBlock) -> None:
        self._ask_block = ask_block
        self._block = iter(range(0))
        self._waiting: deque[OnId] = deque()

    def next(self, on_id: OnId) -> None:
        """Call `on_id` with a fresh id, or with why there is none."""
        fresh = next(self._block, None)
        if fresh is not None:
            on_id(ProducerId(fresh))
            return
        if len(self._waiting) == MAX_WAITING:
            on_id(
                KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "too many wait for producer ids")
            )
            return
        self._waiting.append(on_id)
        if len(self._waiting) == 1:
            self._ask_block(self._block_arrived)

    def _block_arrived(self, block: range | KafkaError) -> None:
        waiting, self._waiting = self._waiting, deque()
        if isinstance(block, KafkaError):
            for on_id in waiting:
                on_id(block)
            return
        self._block = iter(block)
        for on_id in waiting:
            self.next(on_id)

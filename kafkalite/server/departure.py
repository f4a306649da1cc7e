"""A broker that stops in good order: first others take over what it leads (controlled shutdown).

It asks the controller, and again while what it leads still could be led by a live replica that only
has to catch up, within 5 s. What nobody else could lead is not waited for, nor is a controller that
there is not: a cluster that stops as a whole stops at once.

Kafka differs: it waits up to five minutes for the controller.

Source: Kafka's `BrokerLifecycleManager.beginControlledShutdown`, `KafkaServer.controlledShutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from kafkalite.config.views import BrokerConfig
from kafkalite.controller.replica_events import BrokerShutDown, ShutDownBroker
from kafkalite.errors import KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.server.controller_channel import ControllerChannel
from kafkalite.types import BrokerId, TopicPartition

_log = logging.getLogger(__name__)

WITHIN_MS: Final = 5_000
AGAIN_MS: Final = 100
"""While a replica catches up."""


async def hand_over(
    config: BrokerConfig,
    controller: ControllerChannel,
    image: Callable[[], MetadataImage],
    clock: Clock,
) -> None:
    """Return when the broker may stop; at once where `controlled.shutdown.enable` is false."""
    if not config.controlled_shutdown_enable:
        return
    until_ms = clock.now_ms() + WITHIN_MS
    try:
        while True:
            me = image().brokers.get(config.node_id)
            if me is None or not _others(image(), config.node_id):
                return
            event = ShutDownBroker(None, me.id, me.epoch)
            left = await clock.wait(_asked(controller, event), until_ms)
            if not _could_move(image(), left, config.node_id):
                return
            await clock.wait_until(min(until_ms, clock.now_ms() + AGAIN_MS))
            if clock.now_ms() >= until_ms:
                raise TimeoutError
    except (KafkaError, TimeoutError) as error:
        why = str(error) or "too late"
        _log.warning("this broker stops before others lead what it leads: %s", why)


async def _asked(
    controller: ControllerChannel, event: ShutDownBroker
) -> tuple[TopicPartition, ...]:
    reply: asyncio.Future[BrokerShutDown | KafkaError]
    reply = asyncio.get_running_loop().create_future()

    def on_reply(answer: BrokerShutDown | KafkaError) -> None:
        if not reply.done():
            reply.set_result(answer)

    controller.submit(event, on_reply)
    answer = await reply
    if isinstance(answer, KafkaError):
        raise answer
    return answer.remaining


def _others(image: MetadataImage, me: BrokerId) -> list[BrokerId]:
    return [each.id for each in image.active_brokers() if each.id != me]


def _could_move(image: MetadataImage, remaining: Iterable[TopicPartition], me: BrokerId) -> bool:
    """Whether another live broker keeps one of them."""
    others = set(_others(image, me))
    for each in remaining:
        found = image.partition(each.topic, each.partition)
        if found is not None and not others.isdisjoint(found.replicas):
            return True
    return False

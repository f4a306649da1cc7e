"""Whom a broker of a cluster asks as the controller: the core here, while this broker is elected,
or the elected broker, over the wire.

What is asked is tried again while there is no controller, or one that was deposed or has died,
until its time is up. So a request may be carried out twice: whoever asks can bear that, as in
Kafka.

Source: Kafka's `NodeToControllerChannelManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kafkalite.controller.configs import alter_configs
from kafkalite.controller.events import AlterConfigs, ConfigsAltered, ControllerRequest
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock, Timer
from kafkalite.protocol.schema import Response
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.server.controller_wire import Translation, translation_of
from kafkalite.server.core_driver import OnReply
from kafkalite.server.peers import Peers
from kafkalite.types import NO_LEADER, BrokerId

RETRY_MS: Final = 50
"""Kafka's backoff between two tries."""
PURPOSE: Final = "controller"
_TRY_AGAIN: Final = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
AlterOwn = Callable[[Callable[[MetadataImage], tuple[list[Change], ConfigsAltered]], OnReply], None]
"""Has settings of this broker altered, and its answer told: see `ZooKeeperStore.alter_own`."""


def is_worth_another_try(error: KafkaError) -> bool:
    """Whether the controller is somebody else by now, or will be."""
    return error.code in _TRY_AGAIN


class ControllerChannel(ControllerDriver):
    """See the module. Events that come from clients are decided here or nowhere: NOT_CONTROLLER;
    but a broker's own settings by itself, where a Kafka is the controller."""

    def __init__(
        self,
        clock: Clock,
        settings: ControllerSettings,
        *,
        broker_id: BrokerId,
        peers: Peers,
        image: Callable[[], MetadataImage],
        timeout_ms: int,
    ) -> None:
        """`image`: the newest that this broker has folded, which says who the controller is;
        `timeout_ms`: how long a broker's own question may take with all its tries."""
        super().__init__(clock, settings)
        self._broker_id = broker_id
        self._peers = peers
        self._image = image
        self._timeout_ms = timeout_ms
        self._asking: dict[_Asking, None] = {}
        self._is_stopped = False
        self.alter_own: AlterOwn = _refuse

    @property
    def elsewhere(self) -> BrokerId | None:
        """The controller, as far as this broker knows; None: itself, or nobody."""
        controller = self._image().controller_id
        return None if controller in (NO_LEADER, self._broker_id) else controller

    @property
    def is_a_kafka(self) -> bool:
        """Whether the controller is a Kafka 3.9 over ZooKeeper, which registers no features. It
        hangs up on whoever sends it an Envelope, and has each broker alter its own settings."""
        broker = self._image().brokers.get(self._image().controller_id)
        return broker is not None and not broker.features

    def submit(
        self,
        event: ControllerRequest,
        on_reply: Callable[[Any], None],  # Any: as in `ControllerDriver`.
    ) -> None:
        """See `ControllerDriver`. What a broker asks by itself finds the controller, wherever it
        is; REQUEST_TIMED_OUT when that takes too long."""
        if isinstance(event, AlterConfigs) and self.is_a_kafka and not self.active:
            self.alter_own(partial(alter_configs, event=event), on_reply)
            return
        if translation_of(event) is None or self._is_stopped:
            self.submit_here(event, on_reply)
            return
        asking = _Asking(self, event, on_reply)
        self._asking[asking] = None
        asking.ask()

    def submit_here(self, event: ControllerRequest, on_reply: Callable[[Any], None]) -> None:
        """As `ControllerDriver.submit`: NOT_CONTROLLER when it is another broker."""
        super().submit(event, on_reply)

    def stop(self) -> None:
        """See `ControllerDriver`."""
        self._is_stopped = True
        for asking in list(self._asking):
            asking.end(KafkaError(ErrorCode.NOT_CONTROLLER, "the broker is shutting down"))
        super().stop()


def _refuse(decide: object, on_reply: OnReply) -> None:
    on_reply(KafkaError(ErrorCode.NOT_CONTROLLER, "each broker's settings are the controller's"))


class _Asking:
    """One question, through all its tries."""

    __slots__ = ("_channel", "_event", "_is_over", "_on_reply", "_timer", "_until")

    def __init__(
        self,
        channel: ControllerChannel,
        event: ControllerRequest,
        on_reply: Callable[[Any], None],
    ) -> None:
        self._channel = channel
        self._event = event
        self._on_reply = on_reply
        self._until = channel._clock.now_ms() + channel._timeout_ms
        self._timer: Timer | None = None
        self._is_over = False

    def ask(self) -> None:
        self._timer = None
        channel = self._channel
        controller = channel.elsewhere
        left_ms = self._until - channel._clock.now_ms()
        if channel.active:
            channel.submit_here(self._event, self._answered)
        elif left_ms <= 0:
            self.end(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller was found"))
        elif controller is None:
            self._ask_later()
        else:
            translation = translation_of(self._event, to_a_kafka=channel.is_a_kafka)
            assert translation is not None, self._event
            channel._peers.ask(
                controller,
                translation.request(self._event),
                partial(self._told, translation),
                timeout_ms=left_ms,
                purpose=PURPOSE,
            )

    def _told(self, translation: Translation, reply: Response | KafkaError) -> None:
        if isinstance(reply, KafkaError):
            self._answered(reply)
            return
        try:
            body = translation.body(reply)
        except KafkaError as refusal:
            self._answered(refusal)
        except ProtocolError as malformed:
            self._answered(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(malformed)))
        else:
            self._answered(body)

    def _answered(self, reply: object) -> None:
        if self._is_over:
            return
        if isinstance(reply, KafkaError) and is_worth_another_try(reply):
            self._ask_later()
        else:
            self.end(reply)

    def _ask_later(self) -> None:
        clock = self._channel._clock
        self._timer = clock.call_at(clock.now_ms() + RETRY_MS, self.ask)

    def end(self, reply: object) -> None:
        """Answer, and ask no more."""
        if self._is_over:
            return
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        del self._channel._asking[self]
        self._on_reply(reply)

"""One life of a `testing.Broker`, from start to stop: the server's broker on an event loop and a
thread of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, InvariantError
from kafkalite.log.files import Files
from kafkalite.log.meta_properties import LogDirectoryError
from kafkalite.ports.network import Address
from kafkalite.server.broker import Broker
from kafkalite.server.this_machine import (
    fail_on_broken_invariants,
    ports_of_this_machine,
    where_to_dial,
)
from kafkalite.testing.first_topics import create_topics
from kafkalite.testing.lives import BrokerError, ThreadLife, in_one_line
from kafkalite.testing.users import make_known

_FREE_PORT = "port=0 takes a free one"


class Life(ThreadLife[Address]):
    """A broker that is starting, runs or has ended; it is born by `start`."""

    def __init__(
        self,
        config: BrokerConfig,
        files: Files,
        *,
        location: str,
        topics: Mapping[str, int],
        users: Mapping[str, str],
    ) -> None:
        """`location` names the log folder to people; `topics` (name to partitions) are made before
        `started` tells, those that are there already excepted; `users` (passwords by name) are
        known by then."""
        self._config = config
        self._files = files
        self._location = location
        self._topics = topics
        self._users = users
        super().__init__("kafkalite-broker")

    def create_topics(self, topics: Mapping[str, int], configs: Mapping[str, str]) -> Future[None]:
        """By name and partitions. Ask the broker, once it has started, as a client would.
        `BrokerError` when it refuses; cancelled, or a `ConnectionError`, when it ends first."""
        creation = self._create_topics(topics, configs, allowed=())
        return self.run(
            creation, too_late=f"{_named(topics)} cannot be created: kafkalite has stopped"
        )

    async def _serve(self) -> None:
        stopping = self._stopping
        async with AsyncExitStack() as stack:
            try:
                ports = ports_of_this_machine(self._config, self._files)
                broker = Broker(
                    self._config, ports, location=self._location, on_failure=stopping.set
                )
                fail_on_broken_invariants(broker)
                await stack.enter_async_context(broker)
            except (LogDirectoryError, CorruptRecordError, InvariantError, OSError) as error:
                raise BrokerError(
                    f"kafkalite cannot start: {in_one_line(error, _FREE_PORT)}"
                ) from error
            self._network = broker.network_to()
            self._address = where_to_dial(broker.addresses[0])
            if self._users:
                refusals = await make_known(
                    self._network, self._address, self._users, ports.entropy
                )
                if refusals:
                    raise BrokerError(refusals[0])
            if self._topics:
                await self._create_topics(
                    self._topics, {}, allowed=(ErrorCode.TOPIC_ALREADY_EXISTS,)
                )
            self.started.set_result(self._address)
            await stopping.wait()
        if broker.failure is not None:
            raise BrokerError(
                f"kafkalite stopped by itself, for its data contradicts itself: {broker.failure}"
            )

    async def _create_topics(
        self, topics: Mapping[str, int], configs: Mapping[str, str], *, allowed: Sequence[ErrorCode]
    ) -> None:
        """Topics of these settings, by name and partitions; `allowed` refusals are none."""
        try:
            refusals = await create_topics(
                self._network, self._address, topics, configs, allowed=allowed
            )
        except ConnectionError as error:
            if self._stopping.is_set():
                raise
            raise BrokerError(
                f"{_named(topics)} cannot be created: kafkalite hangs up; do its settings let a "
                "client in (max.connections, max.connections.per.ip, socket.request.max.bytes)?"
            ) from error
        if refusals:
            raise BrokerError(refusals[0])


def _named(topics: Mapping[str, int]) -> str:
    names = ", ".join(map(repr, topics))
    return f"topic {names}" if len(topics) == 1 else f"topics {names}"

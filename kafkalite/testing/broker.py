"""A broker for a test, in its own process: `with Broker() as broker: connect(broker.bootstrap)`.

It serves on an event loop and a thread of its own, whatever the test runs on, so that a test may
block (confluent-kafka's `flush`, a debugger) and may be asynchronous on any kind of loop; see
docs/decisions/0010-broker-for-tests.md. Any number of brokers live side by side.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from typing import Self, TypeVar

from kafkalite.config.sasl import PLAIN
from kafkalite.config.views import BrokerConfig
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.testing.broker_options import (
    Setting,
    checked_data,
    checked_settings,
    checked_topic_configs,
    checked_topics,
    make_config,
)
from kafkalite.testing.broker_thread import Life
from kafkalite.testing.lives import BrokerError, StartsAndStops, wait_for
from kafkalite.testing.users import LISTENER, MECHANISMS, checked_users

T = TypeVar("T")

__all__ = ["Broker", "BrokerError"]

START_WITHIN_S = 60.0
"""Far more than a start takes, for a data folder may have to be recovered."""
STOP_WITHIN_S = 10.0
"""The server gives clients 3 s to take their answers; then it closes their connections."""
_CREATE_WITHIN_S = 20.0


class Broker(StartsAndStops):
    """Started by `start`, `with` or `async with`; stopped by `stop`, by their end, and when the
    interpreter exits. All methods may be called from any thread, inside a running event loop too.

    Stopped, it can be started again: with its data, and on the port that it had. Data in memory
    lives as long as this object.

    In a process that is forked meanwhile the broker is not: it goes on in the one that started it.
    `bootstrap` is good in the fork, `stop` and the end of a `with` there leave it alone."""

    def __init__(
        self,
        *,
        topics: Mapping[str, int] | None = None,
        settings: Mapping[str, Setting] | None = None,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        users: Mapping[str, str] | None = None,
    ) -> None:
        """`topics`: partitions by name, there as soon as it has started. `settings`: broker
        settings by Kafka's names. `data`: a log folder, which is kept; None: memory. `port` 0: a
        free one. `users`: passwords by name; clients have to log in as one of them then, by PLAIN,
        SCRAM-SHA-256 or SCRAM-SHA-512 (`client_settings`).

        Defaults are those of `kafkalite serve`, but `kafkalite.record.validation` is `full`:
        produced records are checked as Kafka does. `ValueError`, in one line, for a setting that no
        broker takes, and for an argument of another kind."""
        self._topics = checked_topics({} if topics is None else topics)
        self._settings = checked_settings({} if settings is None else settings)
        self._users = checked_users({} if users is None else users)
        folder = checked_data(data)
        self._location = folder or "in memory"
        self._files: Files = MemoryFiles() if folder is None else OsFiles(folder)
        self._config = self._make_config(port)
        self._life: Life | None = None
        self._bootstrap: str | None = None
        self._process_id = os.getpid()
        self._lock = threading.RLock()
        """Held while it starts or stops."""

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT` for clients, such as `127.0.0.1:40123`. `BrokerError` when it was never
        started."""
        if self._bootstrap is None:
            raise BrokerError("kafkalite is not started: use start() or `with`")
        return self._bootstrap

    def client_settings(self, user: str | None = None, *, mechanism: str = PLAIN) -> dict[str, str]:
        """What a client needs to be let in as that user (None: the first), by librdkafka's names;
        without `users`, where the broker is. `ValueError` for another user or mechanism."""
        settings = {"bootstrap.servers": self.bootstrap}
        if not self._users and user is None:
            return settings
        name = next(iter(self._users)) if user is None else user
        if name not in self._users:
            raise ValueError(f"user={name!r}: none of users=")
        if mechanism not in MECHANISMS:
            raise ValueError(f"mechanism={mechanism!r}: none of {', '.join(MECHANISMS)}")
        return {
            **settings,
            "security.protocol": LISTENER,
            "sasl.mechanism": mechanism,
            "sasl.username": name,
            "sasl.password": self._users[name],
        }

    @property
    def is_running(self) -> bool:
        """Whether it has started and not ended, neither by `stop` nor by itself."""
        life = self._life
        is_started = life is not None and life.started.done() and not life.ended.done()
        return is_started and not self._is_foreign

    def start(self) -> Self:
        """Return when clients can connect and the topics are there; at once, when it runs.
        `BrokerError` when it cannot start."""
        if self._is_foreign:
            raise BrokerError("kafkalite cannot start: this is a fork of the process that made it")
        with self._lock:
            if not self.is_running:
                self._end_life()
                self._begin_life()
        return self

    def stop(self) -> None:
        """Return when all is closed: port, connections, files, thread. May be called again, and
        without a start. `BrokerError` when the broker had stopped by itself, or could not write
        what it keeps: its folder was removed, or the disk is full."""
        if not self._is_foreign:
            with self._lock:
                self._end_life()

    def create_topic(
        self, name: str, partitions: int = -1, *, configs: Mapping[str, Setting] | None = None
    ) -> None:
        """Return when the topic can be used. -1: as many partitions as `num.partitions` says.
        `configs`: topic settings by Kafka's names. `BrokerError` when the broker refuses,
        `ValueError` for arguments of another kind."""
        life = self._life
        if life is None or not self.is_running:
            raise BrokerError(f"topic {name!r} cannot be created: kafkalite is not running here")
        topics = checked_topics({name: partitions})
        created = life.create_topics(
            topics, checked_topic_configs({} if configs is None else configs)
        )
        wait_for(created, _CREATE_WITHIN_S, f"create topic {name!r}")

    def __repr__(self) -> str:
        where = self._bootstrap if self.is_running else "stopped"
        return f"<kafkalite.testing.Broker {where}, data {self._location}>"

    @property
    def _is_foreign(self) -> bool:
        """Whether this is a copy in a forked process, which has the object but not the thread."""
        return self._process_id != os.getpid()

    def _begin_life(self) -> None:
        life = Life(
            self._config,
            self._files,
            location=self._location,
            topics=self._topics,
            users=self._users,
        )
        life.start()
        self._life = life
        atexit.register(self.stop)
        try:
            address = wait_for(life.started, START_WITHIN_S, "start")
        except BaseException:  # Ctrl-C too.
            self._end_life()
            raise
        self._bootstrap = str(address)
        if "listeners" not in self._settings:
            self._config = self._make_config(address.port)

    def _make_config(self, port: int) -> BrokerConfig:
        return make_config(self._settings, port=port, location=self._location, users=self._users)

    def _end_life(self) -> None:
        life, self._life = self._life, None
        if life is None:
            return
        atexit.unregister(self.stop)
        life.stop_soon()
        try:
            wait_for(life.ended, STOP_WITHIN_S, "stop")
        finally:
            life.join(STOP_WITHIN_S if life.ended.done() else 0)

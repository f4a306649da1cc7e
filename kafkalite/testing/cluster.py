"""A cluster for a test, in its process: `with Cluster() as cluster: connect(cluster.bootstrap)`.

Real brokers, real replication over loopback, and what a test wants to do to them: kill the leader,
bring it back, wait until all are in sync. All brokers share one event loop and thread, whatever the
test runs on; see docs/cluster.md.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.open_files import OpenFiles, descriptor_limit
from kafkalite.metadata.image import PartitionImage
from kafkalite.ports.clock import RealClock
from kafkalite.server.this_machine import ports_of_this_machine, where_to_dial
from kafkalite.testing.broker import START_WITHIN_S, STOP_WITHIN_S
from kafkalite.testing.broker_options import (
    Setting,
    checked_data,
    checked_settings,
    checked_topic_configs,
    checked_topics,
    make_config,
)
from kafkalite.testing.cluster_members import ClusterPlan, location_in
from kafkalite.testing.cluster_thread import ClusterLife
from kafkalite.testing.lives import BrokerError, StartsAndStops, wait_for

__all__ = ["BrokerError", "Cluster"]

MOST_BROKERS = 100
_WAIT_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.05
"""At a condition that may depend on more than the metadata."""
_CREATE_WITHIN_S = 20.0


class Cluster(StartsAndStops):
    """Started by `start`, `with` or `async with`; stopped by `stop`, by their end, and when the
    interpreter exits. All methods may be called from any thread.

    Brokers have the ids 1, 2, 3... A broker that was stopped or killed keeps its data and its port,
    and comes back with `restart`. Stopped as a whole, the cluster can be started again."""

    def __init__(
        self,
        brokers: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        settings: Mapping[str, Setting] | None = None,
        data: str | os.PathLike[str] | None = None,
        ports: Mapping[int, int] | None = None,
    ) -> None:
        """`topics`: partitions by name, there as soon as it has started. `settings`: those of every
        broker, by Kafka's names. `data`: a folder for the cluster, which is kept; None: memory.
        `ports`: where brokers listen, by id; others take a free one.

        Defaults are those of `testing.Broker`, but `default.replication.factor` is 3, or the number
        of brokers where there are fewer. `ValueError`, in one line, for what no cluster can be."""
        if isinstance(brokers, bool) or not isinstance(brokers, int):
            raise ValueError(f"brokers={brokers!r}: expected how many, such as 3")
        if not 1 <= brokers <= MOST_BROKERS:
            raise ValueError(f"brokers={brokers}: not from 1 to {MOST_BROKERS}")
        self._topics = checked_topics({} if topics is None else topics)
        texts = checked_settings({} if settings is None else settings)
        if "listeners" in texts:
            raise ValueError("settings: listeners: each broker has its own; use ports=")
        folder = checked_data(data)
        make_config(texts, port=0, location="in memory", has_others=True)  # Tells of mistakes.
        self._settings = {"kafkalite.record.validation": "full", **texts}
        self._folder = folder
        self._memory: dict[str, MemoryFiles] = {}
        self._ports = {id: (ports or {}).get(id, 0) for id in range(1, brokers + 1)}
        self._life: ClusterLife | None = None
        self._process_id = os.getpid()
        self._lock = threading.RLock()
        """Held while it starts or stops."""

    # Where it is, and what it looks like.

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT,HOST:PORT...` of all brokers, those that do not run among them. `BrokerError`
        when it was never started."""
        return ",".join(self.address_of(id) for id in self._ports)

    def address_of(self, id: int) -> str:
        """`HOST:PORT` of one broker, also while it is down."""
        address = self._running.members.addresses.get(id)
        if address is None:
            raise ValueError(f"there is no broker {id}")
        return str(where_to_dial(address))

    @property
    def brokers(self) -> tuple[int, ...]:
        """The ids of those that run."""
        return tuple(sorted(self._running.members.running))

    @property
    def controller(self) -> int | None:
        """The broker that decides; None while there is none."""
        id = self._running.members.image.controller_id
        return id if id in self._running.members.running else None

    def leader_of(self, topic: str, partition: int = 0) -> int | None:
        """The broker that leads it; None while nobody does. `BrokerError` when there is no such
        partition."""
        leader = self._partition(topic, partition).leader
        return leader if leader >= 0 else None

    def isr_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Who is in sync, in the order that the metadata has. `BrokerError` as `leader_of`."""
        return self._partition(topic, partition).isr

    def replicas_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Who is to keep it, the preferred leader first. `BrokerError` as `leader_of`."""
        return self._partition(topic, partition).replicas

    # What to do to it.

    def start(self) -> Self:
        """Return when clients can connect, every broker is a member and the topics are there; at
        once, when it runs. `BrokerError` when it cannot start."""
        if self._is_foreign:
            raise BrokerError("the cluster cannot start: this is a fork of the process that has it")
        with self._lock:
            if self._life is None or self._life.ended.done():
                self._end_life()
                self._begin_life()
        return self

    def stop(self, id: int | None = None) -> None:
        """Stop one broker in good order: others lead what it leads, then it closes. Without `id`
        stop all. Nothing happens when it does not run. `BrokerError` when a broker had stopped by
        itself."""
        if self._is_foreign:
            return
        if id is not None:
            self._do("stop", id)
            return
        with self._lock:
            self._end_life()

    def kill(self, id: int) -> None:
        """End one broker as if its process had died: nothing more is answered or written, its
        session ends at once, and its log is checked at the next start. Nothing happens when it does
        not run."""
        self._do("kill", id)

    def restart(self, id: int) -> None:
        """Have one broker run again with its data, at its port; one that runs is stopped first.
        Return when it is a member; `wait_until_in_sync` tells when it has caught up."""
        members = self._running.members
        if id in members.running:
            self._do("stop", id)
        self._do("start", id)

    def create_topic(
        self, name: str, partitions: int = -1, *, configs: Mapping[str, Setting] | None = None
    ) -> None:
        """Return when the topic can be used. -1: as many partitions as `num.partitions` says.
        `BrokerError` when it is refused."""
        life = self._running
        topics = checked_topics({name: partitions})
        texts = checked_topic_configs({} if configs is None else configs)
        created = life.do(partial(life.create_topics, topics, texts))
        wait_for(created, _CREATE_WITHIN_S, f"create topic {name!r}")

    def wait_until(
        self,
        condition: Callable[[], bool],
        within_s: float = _WAIT_WITHIN_S,
        *,
        what: str = "the condition",
    ) -> None:
        """Return when `condition()` is true; it is looked at after every change of the metadata,
        and 20 times a second. `BrokerError` that names `what` when the time is over."""
        life = self._running
        clock = RealClock()
        until_ms = clock.now_ms() + within_s * 1000
        while not condition():
            left_s = (until_ms - clock.now_ms()) / 1000
            if left_s <= 0:
                raise BrokerError(f"{what} did not come true within {within_s:g} s")
            with life.changed:
                life.changed.wait(min(left_s, _LOOK_EVERY_S))

    def wait_until_leader(
        self, topic: str, partition: int = 0, *, other_than: int | None = None
    ) -> int:
        """The leader, once there is one, and it is not `other_than`."""
        found: list[int] = []

        def has_leader() -> bool:
            leader = self.leader_of(topic, partition)
            if leader is None or leader == other_than:
                return False
            found.append(leader)
            return True

        self.wait_until(has_leader, what=f"a leader of {topic}-{partition}")
        return found[0]

    def wait_until_in_sync(self, topic: str | None = None) -> None:
        """Return when all replicas of the topic, or of all topics, are in sync."""

        def in_sync() -> bool:
            image = self._running.members.image
            return all(
                set(each.isr) == set(each.replicas)
                for name, found in image.topics.items()
                if topic in (None, name)
                for each in found.partitions
            )

        what = "all replicas" if topic is None else f"the replicas of {topic}"
        self.wait_until(in_sync, what=f"{what} to be in sync")

    def __repr__(self) -> str:
        where = self._folder or "memory"
        return f"<kafkalite.testing.Cluster of {len(self._ports)} brokers, data in {where}>"

    # Inside.

    @property
    def _is_foreign(self) -> bool:
        """Whether this is a copy in a forked process, which has the object but not the thread."""
        return self._process_id != os.getpid()

    @property
    def _running(self) -> ClusterLife:
        if self._life is None:
            raise BrokerError("the cluster is not started: use start() or `with`")
        return self._life

    def _partition(self, topic: str, partition: int) -> PartitionImage:
        found = self._running.members.image.partition(topic, partition)
        if found is None:
            raise BrokerError(f"there is no partition {topic}-{partition}")
        return found

    def _do(self, what: str, id: int) -> None:
        """`ValueError` when there is no such broker."""
        life = self._running
        if id not in self._ports:
            raise ValueError(f"there is no broker {id}: there are {list(self._ports)}")
        work = getattr(life.members, what)
        wait_for(life.do(partial(work, id)), START_WITHIN_S, f"{what} broker {id}")

    def _begin_life(self) -> None:
        self._open_files = OpenFiles(descriptor_limit())  # One process, so one for all brokers.
        plan = ClusterPlan(
            self._ports,
            self._settings,
            new_files=self._new_files,
            new_ports=ports_of_this_machine,
            location=location_in(self._folder),
        )
        life = ClusterLife(plan, self._topics)
        life.start()
        self._life = life
        atexit.register(self.stop)
        try:
            wait_for(life.started, START_WITHIN_S, "start")
        except BaseException:  # Ctrl-C too.
            self._end_life()
            raise
        self._ports = {id: address.port for id, address in life.members.addresses.items()}

    def _end_life(self) -> None:
        life, self._life = self._life, None
        if life is None:
            return
        atexit.unregister(self.stop)
        life.stop_soon()
        within_s = STOP_WITHIN_S * len(self._ports)
        try:
            wait_for(life.ended, within_s, "stop")
        finally:
            life.join(within_s if life.ended.done() else 0)

    def _new_files(self, name: str) -> Files:
        if self._folder is not None:
            return OsFiles(os.path.join(self._folder, name), open_files=self._open_files)
        return self._memory.setdefault(name, MemoryFiles())

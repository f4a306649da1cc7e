"""The machines of a cluster: for each broker a disk that stays, and one process after the other
that uses it. The metadata store is beside them and does not fail; who dies loses its session with
it after a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kafkalite.config.views import BrokerConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.changes import Change
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import (
    BrokerRegistration,
    CommitResult,
    ImageWatcher,
    Loaded,
    MetadataSession,
    SessionLost,
    StoreEvent,
)
from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Address
from kafkalite.ports.workers import InlineWorkers
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.partition import Partition
from kafkalite.stores.lasting import LastingStore
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.cluster_checkers import LogSeen
from kafkalite.testing.faults import ProcessClock, ProcessFiles
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, ControllerEpoch, TopicPartition, Uuid, format_uuid
from tests.simulation.machine import fail
from tests.simulation.power import lose_power
from tests.simulation.world import dice_of

PORT = 9092
PASSING = "passing"
"""A topic that is made and deleted again and again."""
_OBSERVER = BrokerId(-1)
SESSION_TIMEOUT_MS = 1_500
STOP_WITHIN_MS = 60_000
NOTHING: Mapping[str, str] = MappingProxyType({})
SETTINGS = {
    "listeners": f"PLAINTEXT://localhost:{PORT}",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "300",
    "replica.fetch.backoff.ms": "200",
    "request.timeout.ms": "5000",
    "log.flush.offset.checkpoint.interval.ms": "900",
    "replica.high.watermark.checkpoint.interval.ms": "400",
    "log.index.interval.bytes": "100",
}


class _Session:
    """A session of a process: with its death nothing more comes or goes."""

    def __init__(self, inner: MetadataSession, is_dead: Callable[[], bool]) -> None:
        self._inner = inner
        self._is_dead = is_dead
        self.is_closed = False

    def register(self, registration: BrokerRegistration) -> None:
        if not self._is_dead():
            self._inner.register(registration)

    def run_for_controller(self) -> None:
        if not self._is_dead():
            self._inner.run_for_controller()

    def resign(self) -> None:
        if not self._is_dead():
            self._inner.resign()

    def folder_failed(self) -> None:
        if not self._is_dead():
            self._inner.folder_failed()

    def load(self, on_loaded: Callable[[Loaded], None]) -> None:
        if not self._is_dead():
            self._inner.load(on_loaded)

    def commit(
        self,
        epoch: ControllerEpoch,
        changes: tuple[Change, ...],
        on_done: Callable[[CommitResult], None],
    ) -> None:
        if not self._is_dead():
            self._inner.commit(epoch, changes, on_done)

    def watch(self, watcher: ImageWatcher) -> None:
        def told(image: MetadataImage, delta: MetadataDelta) -> None:
            if not self._is_dead():
                watcher(image, delta)

        self._inner.watch(told)

    def close(self) -> None:
        if not self._is_dead():
            self.is_closed = True
            self._inner.close()


class _Store:
    """The store as one process sees it, which may hear of the end of its session late."""

    def __init__(self, store: MemoryStore, clock: Clock, is_dead: Callable[[], bool]) -> None:
        self._store = store
        self._clock = clock
        self._is_dead = is_dead
        self.heard_after_ms = 0
        """When it hears that its session is lost. Until then it goes on as if it were not."""

    @property
    def cluster_id(self) -> str:
        return self._store.cluster_id

    def open_session(
        self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> MetadataSession:
        def tell(event: StoreEvent) -> None:
            if not self._is_dead() and not session.is_closed:
                listener(event)

        def told(event: StoreEvent) -> None:
            if isinstance(event, SessionLost) and self.heard_after_ms:
                at_ms = self._clock.now_ms() + self.heard_after_ms
                self._clock.call_at(at_ms, lambda: tell(event))
            else:
                tell(event)

        session = _Session(self._store.open_session(broker_id, told), self._is_dead)
        return session

    def close(self) -> None: ...


class _Life:
    """One process, in a task of its own: a broker that has died is never left."""

    def __init__(self, machines: Machines, id: int) -> None:
        self._simulation = simulation = machines.simulation
        self.clock = ProcessClock(simulation.clock)
        self.files = ProcessFiles(
            machines.disks[id], simulation.entropy, on_death=lambda: machines.died(id, self)
        )
        self.store = _Store(machines.store, simulation.clock, lambda: self.files.is_dead)
        config = BrokerConfig.of(
            {
                **SETTINGS,
                **machines.settings,
                "node.id": str(id),
                "kafkalite.cluster.id": machines.store.cluster_id,
            }
        )
        ports = Ports(
            self.clock,
            simulation.entropy,
            simulation.network.node(host(id)),
            self.files,
            InlineWorkers(),
        )
        self.broker = Broker(
            config,
            ports,
            location="memory",
            store=LastingStore(self.store),
            checks_views=True,
        )
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[None] = loop.create_future()
        self.stopping: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._host = loop.create_task(self._live())

    async def _live(self) -> None:
        try:
            await self.broker.__aenter__()
            self.started.set_result(None)
            await self.stopping
            await self.broker.__aexit__(None, None, None)
            if self.broker.failure is not None:
                raise self.broker.failure
        except BaseException as error:
            if not (self.files.is_dead or self._simulation.is_over):
                failed = ViolationError(f"a broker has failed: {error!r}")
                fail((self.started, self.ended), failed)
            if not isinstance(error, Exception):
                raise
            return
        if not self.ended.done():
            self.ended.set_result(None)


class Machines:
    """All of them."""

    def __init__(
        self, simulation: Simulation, ids: tuple[int, ...], settings: Mapping[str, str] = NOTHING
    ) -> None:
        """`settings`: beside `SETTINGS`."""
        self.simulation = simulation
        self.settings = settings
        self.ids = ids
        self.store = MemoryStore(format_uuid(simulation.entropy.uuid()), simulation.clock)
        self.disks = {id: MemoryFiles(models_crashes=True) for id in ids}
        self._dice = dice_of(simulation, "power")
        self.lives: dict[int, _Life] = {}
        """Of those that run."""
        self._lost: set[int] = set()
        """Those that lost power, and may be in sync still as the metadata has it."""
        self.store.open_session(_OBSERVER, lambda event: None).watch(self._look)
        self._deaths: dict[int, int] = {}
        """How often each has died."""

    @property
    def image(self) -> MetadataImage:
        return self.store.image

    async def start(self, id: int) -> None:
        self._expire(id)
        life = _Life(self, id)
        self.say(f"broker {id} starts")
        await life.started
        self.lives[id] = life

    async def stop(self, id: int) -> None:
        """In good order."""
        life = self.lives.pop(id)
        life.files.spare()
        self.say(f"broker {id} stops")
        life.stopping.set_result(None)
        clock = self.simulation.clock
        try:
            await clock.wait(asyncio.shield(life.ended), clock.now_ms() + STOP_WITHIN_MS)
        except TimeoutError as error:
            raise ViolationError(f"broker {id} does not stop") from error

    def lose_session(self, id: int, *, heard_after_ms: int) -> None:
        """The store has not heard of a broker for too long, which runs on, hears of that so much
        later, and then registers anew."""
        if BrokerId(id) in self.store._sessions:
            self.say(f"broker {id} lives, and loses its session")
            self.lives[id].store.heard_after_ms = heard_after_ms
            self.store.expire(BrokerId(id))

    def is_registered(self, id: int) -> bool:
        session = self.store._sessions.get(BrokerId(id))
        return session is not None and session.live is not None

    def die_amid_changes(self, id: int, changes: int) -> None:
        """It is killed amid its change of that number, if it comes to that."""
        self.say(f"broker {id} will die at a change of its disk")
        self.lives[id].files.die_within(changes)

    def refuse_changes(self, id: int, probability: float, for_ms: int) -> None:
        """Its disk takes only some changes, for a while."""
        files, clock = self.lives[id].files, self.simulation.clock
        self.say(f"the disk of broker {id} refuses")
        files.refusal_probability = probability
        clock.call_at(clock.now_ms() + for_ms, files.spare)

    def kill(self, id: int, *, loses_power: bool = False, loses_all: bool = False) -> None:
        """SIGKILL; or a loss of power, which may take what was not synced, or takes all of it."""
        life = self.lives[id]
        self.say(f"broker {id} {'loses power' if loses_power else 'is killed'}")
        life.files.die()
        self.died(id, life)
        if loses_power:
            if loses_all:
                self.disks[id].crash()
            else:
                lose_power(self.disks[id], self._dice)
            self._lost.add(id)
            for each in self.lives.values():
                each.files.spare()  # See `is_loss_known`.

    def died(self, id: int, life: _Life) -> None:
        """Its files are dead; now the rest of it."""
        self.lives.pop(id, None)
        life.clock.die()
        self.simulation.network.crash(host(id))
        if not life.ended.done():
            life.ended.set_result(None)
        death = self._deaths[id] = self._deaths.get(id, 0) + 1
        clock = self.simulation.clock
        clock.call_at(clock.now_ms() + SESSION_TIMEOUT_MS, lambda: self._time_out(id, death))

    def _time_out(self, id: int, death: int) -> None:
        if self._deaths[id] == death and id not in self.lives:
            self._expire(id)

    def _expire(self, id: int) -> None:
        """Whoever starts anew does not wait for the end of its old session."""
        if BrokerId(id) in self.store._sessions:
            self.say(f"the session of broker {id} expires")
            self.store.expire(BrokerId(id))

    def is_loss_known(self) -> bool:
        """Whether the controller has taken whoever lost power out of sync. Were the others to leave
        before, it would be the last in sync, and lead again without what it lost: Kafka promises
        no more."""
        return not self._lost

    def _look(self, image: MetadataImage, delta: MetadataDelta) -> None:
        partitions = [each for topic in image.topics.values() for each in topic.partitions]
        in_sync = {id for partition in partitions for id in partition.isr}
        self._lost = {id for id in self._lost if id in in_sync}

    def may_lose_power(self, id: int) -> bool:
        """Whether all that it has is kept by another in sync, which runs; and would be, were the
        controller to follow what it is asked for, which it may hear of only afterwards. Where none
        is in sync it may be the last that has led, and the only one to lead again."""
        alive = {each for each in self.lives if each != id and self.is_registered(each)}
        return all(
            alive & set(partition.isr) & self._asked_for(id, topic.name, index)
            for topic in self.image.topics.values()
            for index, partition in enumerate(topic.partitions)
            if id in (*partition.isr, *partition.eligible_leader_replicas)
        )

    def _asked_for(self, id: int, topic: str, index: int) -> set[int]:
        """Who would be in sync if a change that the broker has asked for came true; all, if it has
        asked for none."""
        for each, partition in self.partitions():
            leader = partition.leader if each == id else None
            if (partition.topic, partition.index) == (topic, index) and leader and leader.proposal:
                return {member.broker_id for member in leader.proposal.isr}
        return set(self.lives)

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        """All replicas that are open, with their brokers."""
        for id, life in sorted(self.lives.items()):
            for partition in life.broker._services.replicas.partitions():
                yield id, partition

    def leads(self, id: int, name: TopicPartition) -> bool:
        """Whether that broker acts as the leader now: one that has come back does not before it is
        registered anew, whatever the metadata says."""
        return any(
            partition.leader is not None
            for each, partition in self.partitions()
            if each == id and (partition.topic, partition.index) == (name.topic, name.partition)
        )

    def logs(self) -> dict[TopicPartition, list[LogSeen]]:
        """What stands on the disks of those that run."""
        found: dict[TopicPartition, list[LogSeen]] = {}
        for id, partition in self.partitions():
            name = name_of(partition.topic, partition.topic_id, partition.index)
            data = _log_bytes(self.disks[id], str(partition.key))
            start = partition.log.log_start_offset
            found.setdefault(name, []).append(LogSeen(id, partition.high_watermark, data, start))
        return found

    def say(self, text: str) -> None:
        self.simulation.trace.add(text)


def name_of(topic: str, topic_id: Uuid, index: int) -> TopicPartition:
    """What judges call it: a topic that comes again is another one."""
    return TopicPartition(f"{topic}/{format_uuid(topic_id)}" if topic == PASSING else topic, index)


def host(id: int) -> str:
    return f"broker-{id}"


def address(id: int) -> Address:
    return Address(host(id), PORT)


def _log_bytes(disk: MemoryFiles, folder: str) -> bytes:
    if not disk.is_folder(folder):
        return b""
    names = sorted(name for name in disk.list(folder) if name.endswith(".log"))
    data = b""
    for name in names:
        path = f"{folder}/{name}"
        file = disk.open_read(path)
        data += file.read(0, disk.size(path))
        file.close()
    return data

"""The broker's machine: a disk that stays, and one process after the other that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkalite.config.views import BrokerConfig
from kafkalite.log.directory_set import LogFolderFailedError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.workers import InlineWorkers
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.stores.losses import LostTopicsError
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.faults import ProcessClock, ProcessFiles
from kafkalite.testing.observations import Died, Stopped
from tests.simulation.power import lose_power
from tests.simulation.world import BROKER, World

SETTINGS = {
    "listeners": f"PLAINTEXT://localhost:{BROKER.port}",
    "offsets.topic.num.partitions": "3",
    "log.index.interval.bytes": "100",
    # Housekeeping meets every fault, too.
    "log.initial.task.delay.ms": "300",
    "log.retention.check.interval.ms": "700",
    "log.flush.offset.checkpoint.interval.ms": "900",
    "log.flush.start.offset.checkpoint.interval.ms": "1100",
    "log.segment.delete.delay.ms": "1500",
    # As do snapshots of the metadata.
    "metadata.log.max.record.bytes.between.snapshots": "1500",
}


class _Process:
    """One life of the broker, in a task of its own: a broker that has died is never left, it only
    stirs no more."""

    def __init__(
        self,
        world: World,
        disk: MemoryFiles,
        settings: Mapping[str, str],
        on_loss: Callable[[LostTopicsError], None],
    ) -> None:
        self._on_loss = on_loss
        loop = asyncio.get_running_loop()
        simulation = world.simulation
        self._network = simulation.network
        self._world = world
        self.clock = ProcessClock(simulation.clock)
        self.files = ProcessFiles(disk, simulation.entropy, on_death=self._died)
        ports = Ports(
            self.clock,
            simulation.entropy,
            simulation.network.node(BROKER.host),
            self.files,
            InlineWorkers(),  # Its own: it closes them when it stops.
        )
        self.broker = Broker(BrokerConfig.of(settings), ports, location="memory", checks_views=True)
        self._stopping: asyncio.Future[None] = loop.create_future()
        self.started: asyncio.Future[bool] = loop.create_future()
        """Whether it did."""
        self.ended: asyncio.Future[bool] = loop.create_future()
        """Whether it stopped cleanly."""
        self._host = loop.create_task(self._live())
        self._host.add_done_callback(self._over)

    @property
    def is_running(self) -> bool:
        return self.started.done() and not self.ended.done()

    async def _live(self) -> bool:
        try:
            await self.broker.__aenter__()
        except OSError:
            self._settle(has_started=False, is_clean=False)
            return False
        except LostTopicsError as error:
            self._on_loss(error)
            self._settle(has_started=False, is_clean=False)
            return False
        if not self.started.done():
            self.started.set_result(True)
        await self._stopping
        await self.broker.__aexit__(None, None, None)
        failure = self.broker.failure
        if isinstance(failure, LogFolderFailedError):
            return False
        if failure is not None:
            raise failure
        return True

    def _over(self, host: asyncio.Task[bool]) -> None:
        error: BaseException | None
        if host.cancelled():
            error = ViolationError("a task of the broker failed")
        else:
            error = host.exception()
        if self.ended.done() or self._world.simulation.is_over:
            return  # It was dead, and may fail as it likes.
        if error is None or isinstance(error, OSError):
            self._settle(has_started=False, is_clean=error is None and host.result())
        else:
            fail((self.started, self.ended), error)

    def _settle(self, *, has_started: bool, is_clean: bool) -> None:
        if not self.started.done():
            self.started.set_result(has_started)
        if not self.ended.done():
            self.ended.set_result(is_clean)

    def stop(self) -> None:
        """Ask it to."""
        if not self._stopping.done():
            self._stopping.set_result(None)

    def kill(self) -> None:
        if not self.files.is_dead:
            self.files.die()
            self._died()

    def _died(self) -> None:
        self.clock.die()
        self._network.crash(BROKER.host)
        self._settle(has_started=False, is_clean=False)
        self._world.tell(Died())


def fail(
    futures: Iterable[asyncio.Future[Any]], error: BaseException
) -> None:  # Any: of all types.
    """Tell whoever waits for one of them, and the run, for which nobody may wait."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()  # Told to the run, which need not be told that nobody looked.
    asyncio.get_running_loop().call_exception_handler(
        {"message": "a process has failed", "exception": error}
    )


class Machine:
    """Starts, stops and breaks the broker."""

    def __init__(self, world: World, settings: Mapping[str, str] = SETTINGS) -> None:
        self._world = world
        self._settings = settings
        self._dice = world.dice("machine")
        self._lives: list[_Process] = []
        self.disk = MemoryFiles(models_crashes=True)
        self._has_lost_power = False
        """Since it ran last."""
        self._by_luck: dict[str, int] = {}
        """How many bytes of each file the last loss of power left that were not synced."""

    @property
    def process(self) -> _Process:
        return self._lives[-1]

    async def start(self) -> None:
        """Return once it runs; one that dies at once is started again."""
        while not (self._lives and self.process.is_running):
            process = _Process(self._world, self.disk, self._settings, self._move_lost_away)
            self._lives.append(process)
            self._world.lives += 1
            self._world.say(f"life {self._world.lives}")
            if not await self.process.started:
                await self._world.sleep(500)
        self._has_lost_power = False

    def _move_lost_away(self, error: LostTopicsError) -> None:
        """What a person does whom the broker tells of lost topics: only a loss of power takes them,
        and only from records that are there by luck, for nobody was promised these."""
        if not self._has_lost_power:
            raise ViolationError(f"topics are lost without a loss of power: {error}") from error
        for folder in error.folders:
            if self._bytes_synced(folder):
                raise ViolationError(f"{folder} had synced records, and its topic is lost")
            self.disk.remove_folder(folder)
        self._world.say(f"moved away: {error.names}")

    def _bytes_synced(self, folder: str) -> int:
        """Of its records, before the power was lost."""
        logs = [f"{folder}/{name}" for name in self.disk.list(folder) if name.endswith(".log")]
        return sum(self.disk.size(path) - self._by_luck.get(path, 0) for path in logs)

    async def stop(self) -> None:
        """End it in good order, if nothing comes between."""
        self.process.stop()
        clock = self._world.clock
        try:
            is_clean = await clock.wait(asyncio.shield(self.process.ended), clock.now_ms() + 60_000)
        except TimeoutError as error:
            raise ViolationError("the broker does not stop") from error
        if is_clean:
            self._world.tell(Stopped())
        else:
            self.process.kill()
        self._world.say("stopped" if is_clean else "died while it stopped")

    def kill(self) -> None:
        """As SIGKILL does: what was written is there."""
        self.process.kill()
        self._world.say("killed")

    def lose_power(self) -> None:
        """What was not synced is gone, or some of it, or none."""
        self.process.kill()
        lost = lose_power(self.disk, self._dice)
        self._by_luck = lost.by_luck
        self._has_lost_power = True
        self._world.say(f"lost power: {lost.mood} unsynced is left")

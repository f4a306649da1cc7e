"""Which broker the conformance tests talk to.

With `BOOTSTRAP=HOST:PORT` it is one that runs (the real Kafka), and the tests that need a process
of their own are not selected. Without, one kafkalite serves the whole session.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

# Their assertions then say what was compared, as those of test modules do.
for _cases in ("admin_cases", "client_cases", "group_cases", "language_cases", "sample"):
    pytest.register_assert_rewrite(f"compat_tests.{_cases}")

from compat_tests.process import KafkaliteProcess  # noqa: E402  # The line above comes first.
from compat_tests.real_kafka import SETTINGS, RealKafka  # noqa: E402
from compat_tests.zookeeper_cluster import ZooKeeperCluster  # noqa: E402
from compat_tests.zookeeper_process import KazooBench, ZooKeeperProcess  # noqa: E402

BOOTSTRAP = os.environ.get("BOOTSTRAP")
HERE = Path(__file__).parent
_topic_numbers = itertools.count()

# For `oracle`: what runs there lives for some seconds, and is not worth compiling well.
os.environ.setdefault("KAFKA_OPTS", "-XX:TieredStopAtLevel=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A longer timeout than unit tests have; and what cannot run on a foreign broker, or asks
    none, is deselected."""
    gone = []
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        item.add_marker(pytest.mark.timeout(300))
        asks_no_broker = "bootstrap" not in getattr(item, "fixturenames", ())
        if BOOTSTRAP and (
            item.get_closest_marker("needs_process")
            or (item.get_closest_marker("jvm") and asks_no_broker)
        ):
            gone.append(item)
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in gone]


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`HOST:PORT` of the broker under test."""
    if BOOTSTRAP:
        yield BOOTSTRAP
        return
    broker = KafkaliteProcess.start(tmp_path_factory.mktemp("broker") / "data")
    yield broker.address
    assert broker.stop() == 0


@pytest.fixture(scope="session")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A real ZooKeeper for all who do it no harm; each takes a chroot of its own."""
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"))
    yield process
    process.stop()


@pytest.fixture
def cluster(ensemble: ZooKeeperProcess, tmp_path: Path) -> Iterator[ZooKeeperCluster]:
    """A cluster over the ensemble, for brokers that the test starts."""
    cluster = ZooKeeperCluster(ensemble, tmp_path)
    yield cluster
    cluster.close()


@pytest.fixture
def open_bench() -> Iterator[Callable[[str], KazooBench]]:
    """One over a ZooKeeper at that address; closes its sessions."""
    with ExitStack() as stack:

        def open_bench(hosts: str) -> KazooBench:
            return stack.enter_context(closing(KazooBench(hosts)))

        yield open_bench


@pytest.fixture
def start_kafkalite(tmp_path: Path) -> Iterator[Callable[..., KafkaliteProcess]]:
    """Starts brokers of the test's own (`data`, `port`, `settings`), by default on one folder;
    kills what still runs."""
    started: list[KafkaliteProcess] = []

    def start(
        data: Path = tmp_path / "data",
        *,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
    ) -> KafkaliteProcess:
        started.append(KafkaliteProcess.start(data, port=port, settings=settings))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def topic() -> str:
    """A name that no other test and no earlier run used."""
    return f"compat-{os.getpid()}-{next(_topic_numbers)}"


@pytest.fixture
def start_kafka() -> Iterator[Callable[..., RealKafka]]:
    """Starts the real Kafka on a folder, with `settings` of the test's own beside `real_kafka`'s;
    stops what still runs."""
    started: list[RealKafka] = []

    def start(folder: Path, *, settings: Mapping[str, str] | None = None) -> RealKafka:
        started.append(RealKafka(folder, {**SETTINGS, **(settings or {})}))
        return started[-1]

    yield start
    for kafka in started:
        kafka.end("stopped")

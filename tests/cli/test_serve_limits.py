"""A real disk that takes no more, and a process that may open no more files: refused while it
lasts, over when it is over, and nothing lost that was acknowledged.

By limits of the broker's process, which only Linux lets others change.
"""

from __future__ import annotations

import resource
import signal
from pathlib import Path

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.client import Client
from tests.cli.serving import Served, serving, talk
from tests.cli.test_serve_folders import create
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)
VALUE = b"v" * 1000


def limit(served: Served, which: int, most: int) -> int:
    """Change a limit of the broker; what it was before."""
    soft, hard = resource.prlimit(served.pid, which)
    resource.prlimit(served.pid, which, (most, hard))
    return soft


async def code(client: Client, topic: str, partition: int = 0) -> int:
    request = produce(topic, {partition: batch(VALUE)}, acks=1)
    return produced(await client.ask(request, PRODUCE, ProduceResponse))[0].error_code


async def count(client: Client, topic: str) -> int:
    answer = await client.ask(fetch(topic, {0: 0}), FETCH, FetchResponse)
    return len(values(fetched(answer)[0]))


def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:

        async def run(client: Client) -> None:
            await create(client, "t", 1)
            for _ in range(3):
                assert await code(client, "t") == 0
            size = (tmp_path / "d" / "t-0" / f"{0:020d}.log").stat().st_size
            before = limit(served, resource.RLIMIT_FSIZE, size + 100)
            for _ in range(3):
                assert await code(client, "t") == STORAGE
                assert await count(client, "t") == 3
            limit(served, resource.RLIMIT_FSIZE, before)
            assert await code(client, "t") == 0
            assert await count(client, "t") == 4

        talk(served.port, run)
        ended, log = served.end(signal.SIGTERM)
    assert ended == 0, log
    assert log.count("the disk of d refuses (File too large)") == 1
    assert log.count("the disk of d takes records again") == 1


def test_no_more_files_for_a_while(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:

        async def run(client: Client) -> None:
            await create(client, "t", 1)
            await create(client, "u", 1)
            assert await code(client, "t") == 0
            before = limit(served, resource.RLIMIT_NOFILE, 4)
            assert await code(client, "t") == 0, "it is open"
            for _ in range(3):
                assert await code(client, "u") == STORAGE
            limit(served, resource.RLIMIT_NOFILE, before)
            assert await code(client, "u") == 0
            assert await count(client, "t") == 2

        talk(served.port, run)
        ended, log = served.end(signal.SIGTERM)
    assert ended == 0, log
    assert "Traceback" not in log


def test_a_stop_while_the_disk_is_full_is_no_clean_one_and_loses_nothing(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:

        async def fill(client: Client) -> None:
            await create(client, "t", 1)
            for _ in range(3):
                assert await code(client, "t") == 0
            limit(served, resource.RLIMIT_FSIZE, 10)

        talk(served.port, fill)
        ended, log = served.end(signal.SIGTERM)
    assert ended == 1
    assert log.splitlines()[-1].startswith("kafkalite: no clean stop: [Errno 27] File too large")
    with serving("--data", "d", folder=tmp_path) as served:

        async def find(client: Client) -> None:
            assert await count(client, "t") == 3
            assert await code(client, "t") == 0

        talk(served.port, find)
        ended, log = served.end(signal.SIGTERM)
    assert ended == 0, log

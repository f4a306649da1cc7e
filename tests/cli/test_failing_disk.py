"""A disk that ends with I/O errors while a broker serves, as a process of its own: clients are told
so by the partitions that are on it, the broker says it once, and what was acknowledged is there
after a restart on a disk that is well again. As with Kafka, it takes a restart."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import pytest

from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.testing.client import Client
from tests.cli.failing_disk import COMMAND, flag_of
from tests.cli.serving import serving, talk
from tests.cli.test_serve_folders import STORAGE, THREE, codes, fill, held, write_more
from tests.server.requests import fetch, fetched
from tests.server.running import FETCH


async def fetch_error(client: Client, partition: int) -> int:
    answer = await client.ask(fetch("t", {partition: 0}), FETCH, FetchResponse)
    return fetched(answer)[0].error_code


@pytest.mark.parametrize(
    ("what", "options"),
    [("write", ()), ("sync", ("--fsync",)), ("read", ())],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_disk_with_io_errors_takes_its_partitions_offline_until_a_restart(
    tmp_path: Path, what: str, options: tuple[str, ...]
) -> None:
    disk = tmp_path / "b"
    with serving(*THREE, *options, folder=tmp_path, command=(*COMMAND, str(disk))) as served:

        async def fail(client: Client) -> None:
            await fill(client)
            await write_more(client)
            assert await held(client) == [2, 2, 2]
            flag_of(disk).write_text(f"{what} EIO")
            if what == "read":
                assert await fetch_error(client, 1) == STORAGE
            for _ in range(2):
                assert await codes(client, "t") == [0, STORAGE, 0]
                assert await fetch_error(client, 1) == STORAGE
            flag_of(disk).unlink()
            assert await codes(client, "t") == [0, STORAGE, 0]

        talk(served.port, fail)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert log.count("the log folder b has failed, and 1 partitions are offline: [Errno 5] ") == 1
    assert len(log.splitlines()) == (2 if what == "sync" else 1), log
    with serving(*THREE, folder=tmp_path) as served:

        async def find(client: Client) -> None:
            # What a refused sync was to make safe was never acknowledged, and may be there.
            assert await held(client) == [5, 3 if what == "sync" else 2, 5]
            await write_more(client)

        talk(served.port, find)
        code, log = served.end(signal.SIGTERM)
    assert (code, log) == (0, "")


def test_a_disk_that_became_read_only_and_has_the_metadata_ends_the_broker(tmp_path: Path) -> None:
    disk = tmp_path / "d"
    with serving("--data", "d", folder=tmp_path, command=(*COMMAND, str(disk))) as served:

        async def fail(client: Client) -> None:
            await fill(client)
            flag_of(disk).write_text("write EROFS")
            assert (await codes(client, "t"))[0] == STORAGE

        with suppress(ConnectionError):
            talk(served.port, fail)
        code, log = served.ended()
    assert code == 1
    assert log.splitlines()[-1].startswith(
        "kafkalite: stopped: the log folder d, which has the metadata log, has failed: [Errno 30] "
    )
    assert "Traceback" not in log
    flag_of(disk).unlink()
    with serving("--data", "d", folder=tmp_path) as served:

        async def find(client: Client) -> None:
            assert await held(client) == [1, 1, 1]
            await write_more(client)

        talk(served.port, find)
        assert served.end(signal.SIGTERM)[0] == 0


def test_a_start_on_a_disk_with_io_errors_names_it(tmp_path: Path) -> None:
    """And does the next one no harm."""
    disk = tmp_path / "d"
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, fill)
        assert served.end(signal.SIGTERM)[0] == 0
    flag_of(disk).write_text("read EIO")
    with (
        pytest.raises(AssertionError, match=r"kafkalite: .*Input/output error") as refused,
        serving("--data", "d", folder=tmp_path, command=(*COMMAND, str(disk))),
    ):
        pass
    assert "Traceback" not in str(refused.value)
    flag_of(disk).unlink()
    with serving("--data", "d", folder=tmp_path) as served:

        async def find(client: Client) -> None:
            assert await held(client) == [1, 1, 1]

        talk(served.port, find)
        assert served.end(signal.SIGTERM)[0] == 0

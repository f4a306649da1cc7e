"""`kafkalite serve` with its data in several folders, and with one that is removed meanwhile."""

from __future__ import annotations

import shutil
import signal
from contextlib import suppress
from pathlib import Path

from kafkalite.errors import ErrorCode
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.client import Client
from tests.cli.serving import ran, serving, talk
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE, creatable

STORAGE = int(ErrorCode.KAFKA_STORAGE_ERROR)
THREE = ("--set", "log.dirs=a,b,c")


async def create(client: Client, name: str, partitions: int) -> None:
    request = CreateTopicsRequest(topics=[creatable(name, partitions)], timeout_ms=5_000)
    answer = await client.ask(request, 6, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0


async def codes(client: Client, topic: str) -> list[int]:
    """What a produce to each of its three partitions is answered."""
    found = []
    for index in range(3):
        request = produce(topic, {index: batch(b"x")}, acks=1)
        found.append(produced(await client.ask(request, PRODUCE, ProduceResponse))[0].error_code)
    return found


async def fill(client: Client) -> None:
    await create(client, "t", 3)
    assert await codes(client, "t") == [0, 0, 0]


async def write_more(client: Client) -> None:
    assert await codes(client, "t") == [0, 0, 0]


def test_data_in_several_folders(tmp_path: Path) -> None:
    for talk_to in (fill, write_more):
        with serving(*THREE, folder=tmp_path) as served:
            assert served.where == "a,b,c"
            talk(served.port, talk_to)
            code, log = served.end(signal.SIGTERM)
        assert code == 0, log
        assert "WARNING" not in log
    for index, name in enumerate("abc"):
        assert (tmp_path / name / f"t-{index}").is_dir()
        assert (tmp_path / name / CLEAN_SHUTDOWN).exists()


def test_a_folder_that_is_removed_takes_its_partitions_along(tmp_path: Path) -> None:
    with serving(*THREE, folder=tmp_path) as served:
        talk(served.port, fill)
        shutil.rmtree(tmp_path / "b")

        async def notice(client: Client) -> None:
            await create(client, "u", 3)
            assert await codes(client, "t") == [0, STORAGE, 0]
            await create(client, "v", 3)
            assert await codes(client, "v") == [0, 0, 0]

        talk(served.port, notice)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert "the log folder b has failed, and " in log
    assert not (tmp_path / "b").exists()


async def held(client: Client) -> list[int]:
    """How many records each of the three partitions gives."""
    found = []
    for index in range(3):
        (data,) = fetched(await client.ask(fetch("t", {index: 0}), FETCH, FetchResponse))
        assert data.error_code == ErrorCode.NONE
        found.append(len(values(data)))
    return found


def test_a_folder_that_refuses_comes_back_with_a_restart(tmp_path: Path) -> None:
    """Its place is taken by a file, so that the system refuses root as well. As the real broker
    does, which was asked: the folder is offline until a restart, though it is in order again."""
    place, away = tmp_path / "b", tmp_path / "away"
    with serving(*THREE, folder=tmp_path) as served:

        async def lose(client: Client) -> None:
            await fill(client)
            await write_more(client)
            place.rename(away)
            place.touch()
            await create(client, "u", 3)
            assert await codes(client, "t") == [0, STORAGE, 0]
            place.unlink()
            away.rename(place)
            assert await codes(client, "t") == [0, STORAGE, 0]

        talk(served.port, lose)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log
    assert log.count("the log folder b has failed, and ") == 1
    assert "Traceback" not in log
    with serving(*THREE, folder=tmp_path) as served:

        async def find(client: Client) -> None:
            assert await held(client) == [4, 2, 4]
            await write_more(client)
            assert await held(client) == [5, 3, 5]

        talk(served.port, find)
        code, log = served.end(signal.SIGTERM)
    assert code == 0, log


def test_the_metadata_log_may_be_in_another_folder_than_the_first(tmp_path: Path) -> None:
    with serving(*THREE, "--set", "metadata.log.dir=b", folder=tmp_path) as served:
        talk(served.port, fill)
        assert served.end(signal.SIGTERM)[0] == 0
    assert [name for name in "abc" if (tmp_path / name / "__cluster_metadata-0").exists()] == ["b"]


def test_the_metadata_log_is_in_one_of_the_folders() -> None:
    done = ran("serve", *THREE, "--set", "metadata.log.dir=d")
    assert done.returncode == 2
    assert done.stderr.endswith("metadata.log.dir=d must be among the log.dirs\n")


def test_a_folder_that_has_two_names_is_one(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    second.symlink_to(first)
    done = ran("serve", "--set", f"log.dirs={first},{second}")
    assert done.returncode == 1
    assert done.stderr == (
        f"kafkalite: {second} and {first} are one folder, and log.dirs names it twice\n"
    )
    assert not first.exists()


def test_a_cordoned_folder_takes_no_new_partitions(tmp_path: Path) -> None:
    with serving(*THREE, "--set", "cordoned.log.dirs=b", folder=tmp_path) as served:
        talk(served.port, fill)
        assert served.end(signal.SIGTERM)[0] == 0
    found = {name: len(list((tmp_path / name).glob("t-*"))) for name in "abc"}
    assert found == {"a": 2, "b": 0, "c": 1}


def test_without_the_folder_of_its_metadata_it_ends(tmp_path: Path) -> None:
    with serving("--data", "d", folder=tmp_path) as served:
        talk(served.port, fill)
        shutil.rmtree(tmp_path / "d")

        async def notice(client: Client) -> None:
            await create(client, "u", 3)

        with suppress(ConnectionError):
            talk(served.port, notice)
        code, log = served.ended()
    assert code == 1
    last = log.splitlines()[-1]
    assert last.startswith(
        "kafkalite: stopped: the log folder d, which has the metadata log, has failed: "
    )
    assert last.endswith("; mend the disk, or choose another folder with --data")

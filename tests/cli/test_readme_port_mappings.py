"""The three recipes of README.md, done: a relay stands for the port mapping, the proxy, the
published port and the network of containers. Only names and ports that are not this machine's are
others."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from compat_tests.watching_relay import WatchingRelay
from kafkalite.protocol.api_keys import FACTS
from tests.cli.serving import COMMAND, environment
from tests.testing.confluent_calls import receive, send

PAGE = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
NAMES = {int(key): facts.name for key, facts in FACTS.items()}
WHAT_A_RECORD_NEEDS = {"Produce", "Fetch", "JoinGroup", "OffsetCommit"}


def recipe(heading: str) -> list[str]:
    """What comes after `kafkalite serve` in the first command below these words."""
    command = PAGE.partition(f"**{heading}**")[2].partition("kafkalite serve")[2]
    return shlex.split(command.partition("\n\n")[0].replace("\\\n", " "))


@contextmanager
def served(options: list[str], replaced: Mapping[str, str]) -> Iterator[dict[str, int]]:
    """The ports that the broker has, by listener."""
    words = [*COMMAND, "serve", "--ephemeral", "--json"]
    for option in options:
        for name, instead in replaced.items():
            option = option.replace(name, instead)
        words.append(re.sub(r"(?<=://0\.0\.0\.0:)\d+", "0", option))
    with subprocess.Popen(
        words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as broker:
        try:
            assert broker.stdout is not None
            told = json.loads(broker.stdout.readline())["listeners"]
            yield {name: int(address.rpartition(":")[2]) for name, address in told.items()}
        finally:
            broker.kill()
            broker.communicate()


@pytest.fixture
def relays() -> Iterator[list[WatchingRelay]]:
    with ExitStack() as entered:
        yield [entered.enter_context(WatchingRelay()) for _ in range(2)]


def assert_all_goes_through(relay: WatchingRelay) -> None:
    send(relay.address, "t", b"tea")
    assert receive(relay.address, "t") == b"tea"
    assert set(relay.seen(NAMES)) >= WHAT_A_RECORD_NEEDS


def test_a_port_mapping(relays: list[WatchingRelay]) -> None:
    gateway = relays[0]
    mapped = {"gateway.example.org:19092": gateway.address}
    with served(recipe("A port mapping"), mapped) as ports:
        gateway.target = ports["PLAINTEXT"]
        assert_all_goes_through(gateway)


def test_a_proxy_for_some_and_a_direct_way_for_others(relays: list[WatchingRelay]) -> None:
    proxy = relays[0]
    mapped = {"kafka.example.org:443": proxy.address, "INSIDE://:9092": "INSIDE://:0"}
    with served(recipe("A proxy"), mapped) as ports:
        proxy.target = ports["OUTSIDE"]
        inside = f"127.0.0.1:{ports['INSIDE']}"
        send(inside, "u", b"coffee")
        assert receive(inside, "u") == b"coffee"
        assert proxy.seen(NAMES) == {}
        assert_all_goes_through(proxy)


def test_a_container(relays: list[WatchingRelay]) -> None:
    network, published = relays
    mapped = {"kafka:9092": network.address, "localhost:29092": published.address}
    with served(recipe("A container"), mapped) as ports:
        network.target, published.target = ports["INSIDE"], ports["HOST"]
        assert_all_goes_through(network)
        assert "Produce" not in published.seen(NAMES)
        assert_all_goes_through(published)

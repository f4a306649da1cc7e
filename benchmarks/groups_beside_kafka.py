"""Runs the measurements of `groups.py` on the real Kafka and on kafkalite, in turns, and writes
GROUPS.md beside this file.

    .venv/bin/python -m benchmarks.groups_beside_kafka [--rounds 3] [--only NAME,...] [--short]

Both run all the time, one of them idle, but for `load`: there each is started alone.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.groups import (
    IN_FLIGHT,
    PARTITIONS,
    UNITS,
    Link,
    Runs,
    commit,
    commit_all,
    find,
    measured,
    new,
    settled,
    tell,
    topic,
)
from benchmarks.results import HERE, ORACLE, STAY_LOCAL, machine, number
from kafkalite.protocol.messages import offset_fetch

PAGE = HERE / "GROUPS.md"
LOGGED = 1_000_000
DEADLINE_S = 120
SESSIONS = (
    "group.consumer.max.session.timeout.ms=600000",
    "group.consumer.session.timeout.ms=600000",
)
"""Of one length, and longer than a busy client needs to come round all of a large group."""
THEIRS = f"{ORACLE} start --port {STAY_LOCAL}"
OURS = f"{Path(sys.executable).parent / 'kafkalite'} serve --port {STAY_LOCAL}"
STARTS = {
    "Kafka": " ".join([THEIRS, *map("--config {}".format, SESSIONS)]),
    "kafkalite": " ".join([OURS, *map("--set {}".format, SESSIONS)]),
}
ROWS: Mapping[str, str] = {
    "first-classic": "librdkafka, classic: from subscribe to a new group's first record",
    "first-consumer": "the same with the consumer protocol",
    "storm": "100 new groups of 10 members each (classic) until all have synced",
    "commits-1": "offset commits of one partition each, from one group, 5 in flight",
    "commits-100": "the same from 100 groups in turn",
    "large-join": "5,000 members of the consumer protocol join one group, 5 in flight",
    "heartbeats": "round trip of a heartbeat in that group",
    "stall": "longest round trip of another client while that group is assigned anew",
    "load": "start of the broker until it tells the offsets of 1,000,000 commits",
}


class Running:
    """A broker on a folder. `close` stops it; twice does no harm."""

    def __init__(self, start: str, folder: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        words = shlex.split(start.format(port=port, data=folder))
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        # Both say a line when they are ready; the oracle's names the broker, and ends with it.
        line = self._process.stdout.readline().decode()
        named = re.search(r"pid=(\d+)", line)
        assert named or line.startswith("kafkalite ready"), line
        self._pid = int(named[1]) if named else self._process.pid

    def close(self) -> None:
        until = time.monotonic() + DEADLINE_S
        while self._is_alive() and time.monotonic() < until:
            os.kill(self._pid, signal.SIGTERM)
            time.sleep(0.1)

    def _is_alive(self) -> bool:
        if self._process.poll() is None:
            return True
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        return self._pid != self._process.pid


async def fill(address: str, group: str, count: int) -> None:
    name = topic(address, PARTITIONS)
    link = await Link.open(address)
    await find(link, group)
    await settled(link, [group], name)
    rounds = max(count // PARTITIONS, IN_FLIGHT)
    await commit_all(link, [commit(group, name, *[n] * PARTITIONS) for n in range(rounds)])
    link.close()


async def answers_for(address: str, group: str) -> None:
    """Until the coordinator tells what the group has committed."""
    link = await Link.open(address)
    asked = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=None)
    request = offset_fetch.OffsetFetchRequest(groups=[asked])
    while True:
        answer = await link.ask(request, 8, offset_fetch.OffsetFetchResponse)
        if not answer.groups[0].error_code and answer.groups[0].topics:
            break
        await asyncio.sleep(0.01)
    link.close()


def loads(rounds: int, count: int) -> Runs:
    """Each broker is started, filled once and stopped; then they are started again in turns. What
    is filled stays in the log's last segment, which nobody compacts."""
    group, took = new("g"), Runs([] for _ in STARTS)
    with ExitStack() as folders:
        filled = []
        for start in STARTS.values():
            folder = folders.enter_context(tempfile.TemporaryDirectory())
            with closing(Running(start, folder)) as broker:
                asyncio.run(fill(broker.address, group, count))
            filled.append((start, folder))
        for _ in range(rounds):
            for at, (start, folder) in enumerate(filled):
                begin = time.perf_counter()
                with closing(Running(start, folder)) as broker:
                    asyncio.run(answers_for(broker.address, group))
                    took[at].append(time.perf_counter() - begin)
    return took


def all_rows(rounds: int, scale: int, only: str) -> Iterator[tuple[str, Runs]]:
    with ExitStack() as running:
        addresses = []
        for start in STARTS.values():
            folder = running.enter_context(tempfile.TemporaryDirectory())
            broker = Running(start, folder)
            running.callback(broker.close)
            addresses.append(broker.address)
        yield from measured(addresses, rounds=rounds, scale=scale, only=only)
    if "load".startswith(tuple(only.split(","))):
        yield "load", loads(rounds, LOGGED // scale)


def page(rows: Mapping[str, Runs], load_average: float) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    return "\n".join(
        [
            "# Groups: kafkalite and the real Kafka, side by side",
            "",
            f"Written by `python -m benchmarks.groups_beside_kafka` on {today}; not edited by "
            "hand. Apache Kafka 4.4.0 and `kafkalite serve`, sessions of the consumer protocol "
            "600 s, else their defaults. Medians; ratio: of kafkalite / Kafka; runs: Kafka's; "
            "kafkalite's.",
            "",
            "Machine: " + "; ".join(machine()) + ". The clients run on the same cores. Load "
            f"average: {load_average:.0f}; where that is well above the number of cores, values "
            "say nothing, and ratios little.",
            "",
            "| measurement | Kafka | kafkalite | unit | ratio | runs |",
            "| --- | ---: | ---: | --- | ---: | --- |",
            *(_row(name, runs) for name, runs in rows.items()),
            "",
        ]
    )


def _row(name: str, runs: Runs) -> str:
    theirs, ours = map(statistics.median, runs)
    every = "; ".join(" ".join(map(number, each)) for each in runs)
    values = f"{number(theirs)} | {number(ours)} | {UNITS[name]} | {number(ours / theirs)}"
    return f"| {ROWS[name]} (`{name}`) | {values} | {every} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="names, or what they begin with; by comma")
    parser.add_argument("--short", action="store_true", help="a tenth of the load; no page")
    options = parser.parse_args()
    rows = {}
    for name, runs in all_rows(options.rounds, 10 if options.short else 1, options.only):
        tell(name, runs)
        rows[name] = runs
    if not options.short and rows.keys() == ROWS.keys():
        PAGE.write_text(page(rows, os.getloadavg()[0]), encoding="utf-8")


if __name__ == "__main__":
    main()

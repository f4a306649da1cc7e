"""Clusters of three brokers side by side: kafkalite in one process and in three, and Apache Kafka.

    cluster.py WHAT [--kinds one,processes,kafka] [--rounds N]
               [--partitions N] [--session-ms N] [--folder DIR] --out FILE.jsonl
    cluster.py report FILE.jsonl

WHAT: throughput, failover, controller, or some with commas between.
Each run is a line of the file: what, kind, round, load average before it, values. All clusters run
while one of them is measured. See CLUSTER.md for what each value is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cluster_kinds
from cluster_clients import SteadyProducer, first_raw_ack
from cluster_kinds import IDS, KINDS, Kind, bootstrap, controller
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from load import cpu

HERE = Path(__file__).resolve().parent
Values = dict[str, float]
LOADS = (
    ("16 KiB", "raw-produce", ["--mb", "50", "--batch", "16384"]),
    ("1 MiB", "raw-produce", ["--mb", "150", "--batch", "1048576"]),
    ("librdkafka", "produce", ["--n", "60000"]),
)


def create(
    kind: Kind, assignment: Sequence[Sequence[int]], *, without: int = -1
) -> tuple[str, Values]:
    """A topic of that assignment; its name, and seconds until the answer and until each partition
    has a leader as any of the brokers tells it."""
    alive = [address for id, address in kind.addresses.items() if id != without]
    name = f"t-{uuid.uuid4().hex[:8]}"
    spent = _cpu_s(kind, without)
    begun = time.monotonic()
    while not _is_created(alive, name, assignment, 1 if without in IDS else 100):
        if time.monotonic() - begun > 100:
            raise SystemExit(f"{kind.name}: {name} could not be created in 100 s")
    answered = time.monotonic()
    for address in alive:
        _wait_for_leaders(address, name, len(assignment))
    usable = time.monotonic()
    cpu_s = _cpu_s(kind, without) - spent
    return name, {"answer s": answered - begun, "usable s": usable - begun, "cpu s": cpu_s}


def _cpu_s(kind: Kind, without: int) -> float:
    """Of the brokers' processes, but the one of a broker that is dead."""
    pids = kind.pids()
    alive = pids if len(pids) < len(IDS) else [pids[id - 1] for id in IDS if id != without]
    return sum(map(cpu, alive))


def _is_created(
    alive: Sequence[str], name: str, assignment: Sequence[Sequence[int]], within_s: float
) -> bool:
    """A new client each time: librdkafka asks the broker that Metadata called the controller, and
    goes on asking that when it is dead."""
    admin = AdminClient({"bootstrap.servers": ",".join(alive), "log_level": 0})
    wish = NewTopic(name, len(assignment), replica_assignment=[list(each) for each in assignment])
    asked = admin.create_topics([wish], operation_timeout=within_s, request_timeout=within_s)
    try:
        asked[name].result()
    except KafkaException as error:
        code = error.args[0].code()
        if code in (KafkaError.POLICY_VIOLATION, KafkaError.INVALID_REPLICA_ASSIGNMENT):
            raise  # Kafka takes at most 10,000 changes at once.
        return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
    return True


def _wait_for_leaders(address: str, name: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    until = time.monotonic() + 120
    while time.monotonic() < until:
        found = admin.list_topics(name, 20).topics[name].partitions
        if len(found) == count and all(each.leader >= 0 for each in found.values()):
            return
        time.sleep(_pause_s(found))
    raise SystemExit(f"{address}: {name} has no leaders after 120 s")


def throughput(kind: Kind, _: int) -> Iterator[tuple[str, Values]]:
    """acks=all into one partition of three replicas."""
    for label, what, options in LOADS:
        name, _values = create(kind, [[1, 2, 3]])
        os.sync()
        before = sum(map(cpu, kind.pids()))
        command = [sys.executable, str(HERE / "load.py"), what, kind.addresses[1], name]
        done = subprocess.run(
            [*command, "--acks", "all", *options], capture_output=True, text=True, timeout=120
        )
        spent = sum(map(cpu, kind.pids())) - before
        if done.returncode:
            raise SystemExit(f"{kind.name}, {label}: {done.stderr[-1000:]}")
        found = json.loads(done.stdout)
        moved = found["MB_s"] * found["seconds"]
        yield (
            f"produce {label}",
            {
                "MB/s": found["MB_s"],
                "cpu s/GB": spent / moved * 1e3,
                "failed": found.get("failed", 0),
            },
        )


def failover(kind: Kind, _: int) -> Iterator[tuple[str, Values]]:
    """The leader of the only partition that is written to dies; it is not the controller."""
    decides = controller(kind)
    leader, *others = [id for id in IDS if id != decides]
    name, _values = create(kind, [[leader, *others, decides]])
    producer = SteadyProducer(bootstrap(kind), name)
    producer.wait_acked(time.monotonic() + 1)
    killed = time.monotonic()
    kind.kill(leader)
    any_client = first_raw_ack([kind.addresses[id] for id in (*others, decides)], name) - killed
    took = producer.wait_acked(killed) - killed
    producer.stop()
    kind.restart(leader)
    _wait_in_sync(kind)
    values = {"first ack s": any_client, "first ack of librdkafka s": took}
    yield "leader killed", {**values, "failed": len(producer.lost)}


def fail_controller(kind: Kind, partitions: int) -> Iterator[tuple[str, Values]]:
    """A topic of so many partitions is made; the controller dies, which leads a third of them; one
    more topic is asked for."""
    name, values = create(kind, _spread(partitions))
    yield f"create {partitions} partitions", values
    _wait_in_sync(kind)
    decides = controller(kind)
    left = [id for id in IDS if id != decides]
    admin = AdminClient({"bootstrap.servers": ",".join(kind.addresses[id] for id in left)})
    admin.list_topics(timeout=20)
    spent = _cpu_s(kind, decides)
    killed = time.monotonic()
    kind.kill(decides)
    with ThreadPoolExecutor() as pool:
        moved = pool.submit(_wait_for_moves, admin, name, decides)
        create(kind, [left], without=decides)
        created = time.monotonic() - killed
        took = moved.result() - killed
    cpu_s = _cpu_s(kind, decides) - spent
    kind.restart(decides)
    _wait_in_sync(kind)
    admin.delete_topics([name], operation_timeout=60)[name].result()
    yield (
        f"controller killed, {partitions} partitions",
        {"topic created s": created, "all leaders moved s": took, "cpu s": cpu_s},
    )


def _wait_for_moves(admin: AdminClient, name: str, dead: int) -> float:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        found = admin.list_topics(name, 20).topics[name].partitions.values()
        if all(each.leader >= 0 and each.leader != dead for each in found):
            return time.monotonic()
        time.sleep(_pause_s(found))
    raise SystemExit(f"partitions of {name} had no other leader than {dead} in 90 s")


def _pause_s(partitions: Collection[object]) -> float:
    """Between two looks at a topic: whoever is asked spends some 50 us on each partition."""
    return max(0.01, len(partitions) / 10_000)


def _spread(partitions: int) -> list[list[int]]:
    """Leaders and followers in turn."""
    return [[IDS[(at + step) % 3] for step in range(3)] for at in range(partitions)]


def _wait_in_sync(kind: Kind) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap(kind)})
    until = time.monotonic() + 90
    while time.monotonic() < until:
        topics = admin.list_topics(timeout=20).topics.values()
        if all(
            len(p.isrs) == len(p.replicas)
            for each in topics
            for p in each.partitions.values()
            if len(p.replicas) == len(IDS)
        ):
            return
        time.sleep(max(0.1, *(_pause_s(each.partitions) for each in topics)))
    raise SystemExit(f"{kind.name}: not all in sync in 90 s")


MEASURES = {
    "throughput": throughput,
    "failover": failover,
    "controller": fail_controller,
}


def measure(o: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bench-cluster-", dir=o.folder))
    running: list[Kind] = []
    try:
        for key in o.kinds.split(","):
            (folder / key).mkdir()
            running.append(KINDS[key](folder / key))
            print(f"{running[-1].name} runs", file=sys.stderr, flush=True)
        for round in range(o.rounds):
            for kind in running:
                load = os.getloadavg()[0]
                for measured in o.what.split(","):
                    for what, values in MEASURES[measured](kind, o.partitions):
                        _record(o.out, kind.name, what, round, load, values)
    finally:
        for kind in running:
            kind.stop()
        if o.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def _record(out: Path, kind: str, what: str, round: int, load: float, values: Values) -> None:
    line = {"what": what, "kind": kind, "round": round, "load": round_to(load), "values": {}}
    line["values"] = {name: round_to(value) for name, value in values.items()}
    with out.open("a") as file:
        print(json.dumps(line), file=file)
    print(json.dumps(line), file=sys.stderr, flush=True)


def round_to(value: float) -> float:
    return float(f"{value:.4g}")


def report(file: Path) -> None:
    """Medians, and every run behind them, as a table of Markdown."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for line in file.read_text().splitlines():
        run: dict[str, Any] = json.loads(line)  # Any: JSON.
        for value, number in run["values"].items():
            found.setdefault((run["what"], value, run["kind"]), []).append(number)
            found.setdefault((run["what"], f"load for {value}", run["kind"]), []).append(
                run["load"]
            )
    print("| what | of | cluster | median | all runs | load average before each |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (what, value, kind), numbers in found.items():
        if value.startswith("load for ") or (value == "failed" and not any(numbers)):
            continue
        loads = found[what, f"load for {value}", kind]
        runs, before = ", ".join(f"{n:g}" for n in numbers), ", ".join(f"{n:.0f}" for n in loads)
        median = f"{statistics.median(numbers):.3g}"
        print(f"| {what} | {value} | {kind} | {median} | {runs} | {before} |")


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--session-ms", type=int, default=cluster_kinds.SESSION_MS)
    parser.add_argument("--folder", type=Path, help="where data goes, and stays")
    parser.add_argument("--out", type=Path)
    o = parser.parse_args()
    cluster_kinds.SESSION_MS = o.session_ms
    if o.what == "report" and o.file:
        report(o.file)
    elif o.out and set(o.what.split(",")) <= set(MEASURES):
        measure(o)
    else:
        parser.error(f"report FILE, or some of {', '.join(MEASURES)} with --out")


if __name__ == "__main__":
    main()

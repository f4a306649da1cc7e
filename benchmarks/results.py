"""Runs `bench`, the real Kafka against kafkalite, and `micro_log.py`; writes RESULTS.md beside this
file.

    results.py [--pairs N] [--full] [--without-run FILE.json]

By default only what has a floor, in three pairs; --full runs all that bench knows. --without-run
writes the page from numbers that are there (bench's --json). Exit code 1 when a floor is missed.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import json
import operator
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ORACLE = ROOT / "compat_tests" / "oracle" / "kafka"
PAGE = HERE / "RESULTS.md"
STAY_LOCAL = "{port} --data {data}"

Row = dict[str, Any]
"""One row of bench's JSON: name, unit, a (Kafka), b (kafkalite), ratio, n, values."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What kafkalite has to hold: `field` of the row called `row` compared with `bound`."""

    promise: str
    row: str
    field: str
    holds: Callable[[float, float], bool]
    bound: float

    def verdict(self, rows: dict[str, Row]) -> str:
        """A line of the table."""
        value = rows.get(self.row, {}).get(self.field)
        sign = "at least" if self.holds is operator.ge else "at most"
        suffix = "x" if self.field == "ratio" else " " + rows.get(self.row, {}).get("unit", "")
        if value is None:
            return f"| {self.promise} | {sign} {self.bound:g}{suffix} | not measured | |"
        word = "pass" if self.holds(value, self.bound) else "**miss**"
        return f"| {self.promise} | {sign} {self.bound:g}{suffix} | {value:.3g}{suffix} | {word} |"

    def is_missed(self, rows: dict[str, Row]) -> bool:
        value = rows.get(self.row, {}).get(self.field)
        return value is None or not self.holds(value, self.bound)


APPEND_16K, APPEND_1M = "append of the limit, 16 KiB", "append of the limit, 1 MiB"
READS = "read(offset), 1,000 segments against 1"
FLOORS = [
    Floor("ready after exec, new folder", "start-empty", "b", operator.le, 0.2),
    Floor("ready after exec, used folder", "start-again", "b", operator.le, 0.2),
    Floor("resident memory, idle", "rss-before-load", "b", operator.le, 45),
    Floor("raw produce, 1 MiB", "raw-produce-1MiB", "ratio", operator.ge, 2.5),
    Floor("raw produce, 16 KiB", "raw-produce-16KiB", "ratio", operator.ge, 2.5),
    Floor("raw fetch, 1 MiB batches", "raw-fetch-1MiB", "ratio", operator.ge, 0.8),
    Floor("raw fetch, 16 KiB batches", "raw-fetch-16KiB", "ratio", operator.ge, 0.8),
    Floor("librdkafka produce", "produce-librdkafka", "ratio", operator.ge, 1.0),
    Floor("librdkafka consume", "consume-librdkafka", "ratio", operator.ge, 1.0),
    Floor("synchronous round trips", "sync-librdkafka", "ratio", operator.ge, 1.5),
    Floor("broker cpu per GB produced, 1 MiB", "cpu raw-produce-1MiB", "ratio", operator.le, 0.5),
    Floor("broker cpu per GB produced, 16 KiB", "cpu raw-produce-16KiB", "ratio", operator.le, 0.5),
    Floor(
        "broker cpu per GB produced, librdkafka",
        "cpu produce-librdkafka",
        "ratio",
        operator.le,
        0.5,
    ),
]
FULL_FLOORS = [
    Floor("resident memory after some GB", "rss-after-gigabytes", "b", operator.le, 70),
    Floor("Java produce, 128 KiB batches", "produce-java", "ratio", operator.ge, 1.0),
    Floor("Java consume", "consume-java", "ratio", operator.ge, 1.0),
    Floor("end to end p99, 1,000 a second", "latency-1000 p99", "ratio", operator.le, 1.0),
    Floor("end to end p99, 10,000 a second", "latency-10000 p99", "ratio", operator.le, 1.0),
    Floor("first record of a new classic group", "join", "b", operator.le, 0.2),
    Floor("1,000 partitions usable", "create-1000-partitions", "b", operator.le, 0.5),
    Floor("1,000 clients connected and answered", "connect-1000 answered", "b", operator.le, 2.0),
    Floor("memory of each of them", "connect-1000 each", "b", operator.le, 10),
    Floor("just started: until the first ack", "fresh first-ack", "ratio", operator.le, 1 / 1.5),
    Floor("just started: 10,000 records", "fresh 10000-records", "ratio", operator.le, 1 / 1.5),
    Floor(
        "just started: a new group's first record",
        "fresh group-first-record",
        "ratio",
        operator.le,
        1 / 1.5,
    ),
    Floor("just started: 50 MB more", "fresh produce-50MB", "ratio", operator.le, 1 / 1.5),
    Floor(
        "produce beside 5,000 partitions", "growth-neighbours produce 5000/1", "b", operator.le, 1.5
    ),
    Floor("fetch beside 5,000 partitions", "growth-neighbours fetch 5000/1", "b", operator.le, 1.5),
    Floor("produce beside 2,000 connections", "growth-connections 2000/1", "b", operator.le, 1.5),
]
"""What `--full` measures besides."""
LOG_FLOORS = [
    Floor("append of 16 KiB, of what CRC and write take", APPEND_16K, "value", operator.ge, 60),
    Floor("append of 1 MiB, of what CRC and write take", APPEND_1M, "value", operator.ge, 60),
    Floor("read at an offset, 1,000 segments against 1", READS, "value", operator.le, 1.5),
]
ALWAYS = {"start-empty", "start-again", "rss-before-load"}
"""Rows that bench gives whatever it is asked for."""


def floors(*, full: bool) -> list[Floor]:
    return FLOORS + FULL_FLOORS if full else FLOORS


def command(pairs: int, *, full: bool, out: Path) -> list[str]:
    """The call of bench."""
    kafkalite = Path(sys.executable).parent / "kafkalite"
    wanted = {floor.row.removeprefix("cpu ") for floor in FLOORS} - ALWAYS
    return [
        sys.executable,
        str(HERE / "bench"),
        "--a-start",
        f"{ORACLE} start --port {STAY_LOCAL}",
        "--b-start",
        f"{kafkalite} serve --port {STAY_LOCAL}",
        "--pairs",
        str(pairs),
        "--warm",
        "--json",
        str(out),
        *([] if full else ["--only", ",".join(sorted(wanted))]),
    ]


def measured_log() -> list[Row]:
    """The rows of micro_log.py."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "log.json"
        call = [sys.executable, str(HERE / "micro_log.py"), "--json", str(out)]
        subprocess.run(call, check=True, cwd=ROOT, stdout=sys.stderr)
        rows: list[Row] = json.loads(out.read_text())
    return rows


def machine() -> Iterator[str]:
    """What the numbers depend on; nothing that names the machine."""
    yield f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = re.search(r"model name\s*: (.*)", cpuinfo.read_text())
        if model:
            yield model[1]
    yield f"{platform.python_implementation()} {platform.python_version()}"
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    yield from java.stderr.splitlines()[:1]


def spread(row: Row) -> str:
    """Lowest to highest B / A of the pairs."""
    ratios = [b / a for a, b in zip(row["values"]["a"], row["values"]["b"], strict=False) if a]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def log_section(log: dict[str, Row]) -> Iterator[str]:
    """What micro_log.py measured."""
    yield from (
        "",
        "## The log alone",
        "",
        "`micro_log.py`, in the temporary folder: the best of all rounds, and their range. The "
        "limit of an append is CRC-32C and one `os.write`.",
        "",
        "| measurement | best | unit | rounds |",
        "| --- | ---: | --- | --- |",
    )
    for name, row in log.items():
        rounds = f"{number(min(row['rounds']))} to {number(max(row['rounds']))}"
        yield f"| {name} | {number(row['value'])} | {row['unit']} | {rounds} |"


def page(results: dict[str, Any], *, full: bool) -> str:
    """RESULTS.md."""
    rows = {row["name"]: row for row in results["rows"]}
    log = {row["name"]: row for row in results.get("log", [])}
    pairs = max((row["n"] for row in rows.values()), default=0)
    today = datetime.datetime.now(datetime.UTC).date()
    return "\n".join(
        [
            "# kafkalite and the real Kafka, side by side",
            "",
            f"Written by `make bench{' BENCH=--full' if full else ''}` on {today}; not edited by "
            "hand.",
            "",
            "Method: Apache Kafka 4.4.0 (compat_tests/oracle, its own defaults, 1 GB heap) and "
            "`kafkalite serve`, both on loopback with data on the same disk, both running, one of "
            "them idle. Each load runs twice on both before it counts, so that the JVM has "
            "compiled, with dirty pages written out and memory filled before each; then in turn, "
            f"Kafka, kafkalite, Kafka, ...: {pairs} pairs, each with brokers just started on empty "
            "folders. Values are medians; the ratio is the median over the pairs of kafkalite / "
            "Kafka. What each row means: README.md.",
            "",
            "Machine: " + "; ".join(machine()) + ". The clients run on the same cores.",
            "",
            "## Floors",
            "",
            "| promise | floor | measured | |",
            "| --- | --- | --- | --- |",
            *(floor.verdict(rows) for floor in floors(full=full)),
            *(floor.verdict(log) for floor in LOG_FLOORS),
            "",
            "## All rows",
            "",
            "| measurement | Kafka | kafkalite | unit | ratio | lowest to highest |",
            "| --- | ---: | ---: | --- | ---: | --- |",
            *(
                f"| {name} | {number(row['a'])} | {number(row['b'])} | {row['unit']} | "
                f"{number(row['ratio'])} | {spread(row)} |"
                for name, row in rows.items()
            ),
            "",
            *(f"- {note}" for note in results["notes"]),
            *log_section(log),
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--without-run", type=Path)
    options = parser.parse_args()
    out = options.without_run or HERE / "results.json"
    if not options.without_run:
        # As an installation has it: else each start compiles what Python may not write here.
        compileall.compile_dir(ROOT / "kafkalite", quiet=1)
        call = command(options.pairs, full=options.full, out=out)
        subprocess.run(call, check=True, cwd=ROOT)
        results = json.loads(out.read_text()) | {"log": measured_log()}
        out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    results = json.loads(out.read_text())
    PAGE.write_text(page(results, full=options.full), encoding="utf-8")
    rows = {row["name"]: row for row in results["rows"]}
    log = {row["name"]: row for row in results.get("log", [])}
    asked = floors(full=options.full)
    missed = [floor.promise for floor in asked if floor.is_missed(rows)]
    missed += [floor.promise for floor in LOG_FLOORS if floor.is_missed(log)]
    count = len(asked) + len(LOG_FLOORS)
    print(f"{PAGE.name}: {count - len(missed)} of {count} floors hold")
    for promise in missed:
        print(f"missed: {promise}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Kafka's own Java clients of three ages: what `clients/*.java` did with each, judged."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from compat_tests.java.jars import class_path
from compat_tests.stored import stored_codecs, stored_producers
from kafkalite.protocol.records.compression import Compression

pytestmark = pytest.mark.jvm

HERE = Path(__file__).parent / "clients"
Age = Literal["clients-2.8", "clients-3.9", "clients-4.4"]
AGES: tuple[Age, ...] = ("clients-2.8", "clients-3.9", "clients-4.4")
MANY = 10_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WRITTEN_AND_READ: dict[str, object] = {
    "acknowledged": MANY,
    "acknowledged_in_order": True,
    "read": MANY,
    "read_in_order": True,
    "differing": 0,
}
WANTED: dict[str, dict[str, object]] = {
    **dict.fromkeys((*CODECS, "defaults", "idempotent"), WRITTEN_AND_READ),
    "times": {
        "beginning": 0,
        "end": 100,
        "at -1": 0,
        "at 40000": 40,
        "at 40001": 41,
        "at 99000": 99,
        "at 99001": None,
        "read": "v70",
    },
    "topics": {
        "created_again": "TopicExistsException",
        "partitions": 3,
        "deleted_again": "UnknownTopicOrPartitionException",
        "end_of_the_next": 0,
    },
    "group": {
        "first": [0, 1],
        "second": [2, 3],
        "first_read": {"a": 50},
        "second_read": {"a": 50},
        "read_after_the_leave": {"b": 40},
    },
    "resume": {
        "committed_before": None,
        "committed": 60,
        "metadata": "so far",
        "read": 40,
        "first_read": "v60",
    },
}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled with the oldest client: what that has, all have."""
    folder = tmp_path_factory.mktemp("classes")
    done = subprocess.run(
        ["javac", "-cp", class_path("clients-2.8"), "-d", folder, *HERE.glob("*.java")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@cache
def facts(age: Age, classes: Path, bootstrap: str) -> dict[str, dict[str, object]]:
    """What the program tells of each scenario, played with the client of that age."""
    done = subprocess.run(
        [
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-cp",
            os.pathsep.join([str(classes), class_path(age)]),
            "Scenarios",
            bootstrap,
            prefix(age),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {fact.pop("scenario"): fact for fact in told}


def prefix(age: Age) -> str:
    """Of the topics and groups of a run."""
    return f"{age}-{os.getpid()}-"


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("scenario", WANTED)
def test_scenario(age: Age, scenario: str, classes: Path, bootstrap: str) -> None:
    assert facts(age, classes, bootstrap)[scenario] == WANTED[scenario]


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("codec", CODECS)
def test_batches_stand_there_in_the_codec(
    age: Age, codec: str, classes: Path, bootstrap: str
) -> None:
    facts(age, classes, bootstrap)
    assert stored_codecs(bootstrap, prefix(age) + codec) == {Compression[codec.upper()]}


@pytest.mark.parametrize("age", AGES)
def test_idempotent_producers_have_an_id(age: Age, classes: Path, bootstrap: str) -> None:
    """From 3.0 on a producer is idempotent if nobody says otherwise."""
    facts(age, classes, bootstrap)
    (asked,) = stored_producers(bootstrap, prefix(age) + "idempotent")
    (unasked,) = stored_producers(bootstrap, prefix(age) + "defaults")
    assert asked >= 0
    assert (unasked >= 0) == (age != "clients-2.8")
    assert unasked != asked

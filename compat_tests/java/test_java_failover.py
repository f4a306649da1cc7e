"""Kafka's Java client on three brokers whose leader dies."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from compat_tests.failover_ride import ride
from compat_tests.java.jars import Module, class_path

SOURCES = Path(__file__).parent / "clients"


@pytest.mark.jvm
@pytest.mark.needs_process
@pytest.mark.timeout(120)
@pytest.mark.parametrize("library", ["clients-4.4", "clients-2.8"])
def test_java_rides_through_a_failover(tmp_path: Path, library: Module) -> None:
    subprocess.run(
        ["javac", "-cp", class_path("clients-2.8"), "-d", tmp_path, *SOURCES.glob("*.java")],
        check=True,
    )
    path = os.pathsep.join([str(tmp_path), class_path(library)])
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path)
    ride(["java", *options, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "Main", library])

"""Kafka's Java client on three brokers whose leader dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat_tests.failover_ride import ride
from compat_tests.java.jars import Module, class_path


@pytest.mark.jvm
@pytest.mark.needs_process
@pytest.mark.parametrize("library", ["clients-4.4", "clients-2.8"])
def test_java_rides_through_a_failover(classes: Path, library: Module) -> None:
    path = os.pathsep.join([str(classes), class_path(library)])
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path)
    ride(["java", *options, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "Main", library])

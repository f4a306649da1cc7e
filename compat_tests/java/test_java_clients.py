"""Kafka's own Java clients of three ages, through what all languages share, and what they do
unasked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat_tests.feature_levels import TRANSACTIONS, at_level
from compat_tests.golden import Golden
from compat_tests.held_up_members import hold_up
from compat_tests.java.jars import Module, class_path
from compat_tests.language_cases import (
    LanguageCases,
    MemberCases,
    PatternCases,
    ResumeCases,
    Run,
    StaticMemberCases,
)
from compat_tests.programs import Command
from compat_tests.stored import stored_producers

pytestmark = pytest.mark.jvm


def java(classes: Path, library: Module, *properties: str) -> Command:
    """Starts the program with that module of `pom.xml`."""
    jars = os.pathsep.join([str(classes), class_path(library)])
    # It lives for a second: it is not worth compiling well, nor collecting at once.
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return ("java", *options, *properties, logging, "-cp", jars, "Main")


class JavaCases(LanguageCases, MemberCases, StaticMemberCases, PatternCases):
    """`library` is a module of `pom.xml`."""

    language = "java"
    library: Module
    idempotent_unasked = True
    properties: tuple[str, ...] = ()
    """Of the JVM."""
    fencing = "ProducerFencedException"
    """What a producer is told that writes after another of its transactional id has come."""

    @pytest.fixture
    def command(self, classes: Path) -> Command:
        return java(classes, self.library, *self.properties)

    def test_idempotence(self, run: Run, bootstrap: str, topic: str) -> None:
        assert run("idempotence") == {"acknowledged": [1_000, 1_999]}
        producers = stored_producers(bootstrap, topic)
        assert len(producers) == 2, "of a producer that was not told, and of one that was"
        assert (-1 not in producers) == self.idempotent_unasked

    def test_transactions(self, run: Run) -> None:
        """Java of 4.4 speaks version 2 of their protocol, the others version 1."""
        facts = run("transactions")
        assert facts["committed"] == [str(number) for number in range(6)]
        assert facts["all"] == ["0", "1", "2", "0", "1", "2", "3", "4", "5", "3", "4", "5"]
        assert facts["offset"] == 6
        assert facts["fenced"] == self.fencing


class TestClients44(JavaCases):
    library = "clients-4.4"
    fencing = "InvalidProducerEpochException"

    @pytest.mark.parametrize("level", [0, 1])
    def test_transactions_of_a_cluster_without_version_2(
        self, run: Run, bootstrap: str, level: int
    ) -> None:
        """It sees by `transaction.version` that it has to speak version 1 of their protocol."""
        with at_level(Golden(bootstrap), TRANSACTIONS, level):
            facts = run("transactions")
        assert facts["committed"] == [str(number) for number in range(6)]
        assert facts["offset"] == 6
        assert facts["fenced"] == "ProducerFencedException"


class TestClients44OfTheNewProtocol(JavaCases):
    """Their groups are consumer groups (KIP-848)."""

    library = "clients-4.4"
    fencing = "InvalidProducerEpochException"
    properties = ("-Dgroup.protocol=consumer",)

    def test_a_pattern_that_the_broker_resolves_sees_a_new_topic(self, run: Run) -> None:
        """Java's `SubscriptionPattern`; of a `Pattern` the client itself finds out what matches."""
        assert run("broker-pattern") == {"received": 13, "of_the_new_topic": 10}


ASSIGNORS = ("Range", "RoundRobin", "Sticky", "CooperativeSticky")


@pytest.mark.parametrize("assignor", ASSIGNORS)
class TestAssignors(MemberCases, StaticMemberCases, PatternCases, ResumeCases):
    """The classic protocol with each of Kafka's own assignors, of which Java's clients name two."""

    language = "java"
    library: Module = "clients-4.4"

    @pytest.fixture
    def command(self, classes: Path, assignor: str) -> Command:
        name = f"org.apache.kafka.clients.consumer.{assignor}Assignor"
        return java(classes, self.library, f"-Dpartition.assignment.strategy={name}")

    run = LanguageCases.run


class TestClients39(JavaCases):
    library = "clients-3.9"


class TestClients28(JavaCases):
    library = "clients-2.8"
    idempotent_unasked = False


def test_members_that_are_held_up_for_longer_than_their_session_come_back(
    classes: Path, bootstrap: str, topic: str
) -> None:
    library: Module = "clients-4.4"
    properties = {
        "classic": "-Dsession.timeout.ms=6000",
        "consumer": "-Dgroup.protocol=consumer",
    }
    commands = {
        protocol: (*java(classes, library, each), library) for protocol, each in properties.items()
    }
    hold_up(commands, bootstrap, topic)

"""Four libraries for Go, through what all languages share."""

from __future__ import annotations

import pytest

from compat_tests.held_up_members import hold_up
from compat_tests.language_cases import (
    LanguageCases,
    MemberCases,
    PatternCases,
    ResumeCases,
    StaticMemberCases,
    TransactionCases,
)
from compat_tests.programs import program

pytestmark = pytest.mark.go


class TestFranzGo(LanguageCases, TransactionCases, MemberCases, StaticMemberCases, PatternCases):
    language = "go"
    library = "franz-go"


class TestFranzGoOfTheNewProtocol(MemberCases, PatternCases, ResumeCases):
    """Its groups are consumer groups (KIP-848). A static member that closes says nothing there, not
    even that it will be back: its place is free when its session is over, on any broker."""

    language = "go"
    library = "franz-go-assigned"

    command, run = LanguageCases.command, LanguageCases.run


class TestSarama(LanguageCases, TransactionCases, MemberCases):
    """As it comes, which is for brokers of 2.8. It has no patterns."""

    language = "go"
    library = "sarama"


class TestNewestSarama(LanguageCases, TransactionCases, MemberCases, StaticMemberCases):
    """Told to take the newest versions it has."""

    language = "go"
    library = "sarama-newest"


class TestKafkaGo(LanguageCases):
    language = "go"
    library = "kafka-go"


class TestConfluentKafkaGo(LanguageCases):
    language = "go"
    library = "confluent-kafka-go"


def test_members_that_are_held_up_for_longer_than_their_session_come_back(
    bootstrap: str, topic: str
) -> None:
    libraries = ("franz-go", "franz-go-assigned", "sarama", "sarama-newest")
    hold_up({each: (*program("go"), each) for each in libraries}, bootstrap, topic)

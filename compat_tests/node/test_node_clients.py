"""Two libraries for Node.js, through what all languages share."""

from __future__ import annotations

import pytest

from compat_tests.held_up_members import hold_up
from compat_tests.language_cases import LanguageCases, MemberCases, TransactionCases
from compat_tests.programs import program

pytestmark = pytest.mark.node


class TestKafkaJs(LanguageCases, TransactionCases, MemberCases):
    """It has no static members, and looks for the topics of a pattern once, when it subscribes."""

    language = "node"
    library = "kafkajs"


class TestPlatformatic(LanguageCases):
    language = "node"
    library = "platformatic"


def test_a_member_that_is_held_up_for_longer_than_its_session_comes_back(
    bootstrap: str, topic: str
) -> None:
    hold_up({"kafkajs": (*program("node"), "kafkajs")}, bootstrap, topic)

"""Two libraries for Node.js, through what all languages share."""

from __future__ import annotations

import pytest

from compat_tests.language_cases import LanguageCases, MemberCases, TransactionCases

pytestmark = pytest.mark.node


class TestKafkaJs(LanguageCases, TransactionCases, MemberCases):
    language = "node"
    library = "kafkajs"


class TestPlatformatic(LanguageCases):
    language = "node"
    library = "platformatic"

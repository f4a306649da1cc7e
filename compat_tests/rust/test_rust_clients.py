"""rdkafka, through what all languages share."""

from __future__ import annotations

import pytest

from compat_tests.language_cases import LanguageCases

pytestmark = pytest.mark.rust


class TestRdkafka(LanguageCases):
    language = "rust"
    library = "rdkafka"

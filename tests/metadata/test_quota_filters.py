from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.quota_filters import FilterPart, check_filter

INVALID, UNSUPPORTED = ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_VERSION
EXACT, DEFAULT, SPECIFIED = 0, 1, 2


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [FilterPart("user", EXACT, "u"), FilterPart("client-id", SPECIFIED, None)],
        [FilterPart("client-id", DEFAULT, None)],
        [FilterPart("ip", EXACT, "")],
    ],
)
def test_what_is_a_filter(parts: list[FilterPart]) -> None:
    check_filter(parts)


@pytest.mark.parametrize(
    ("parts", "code", "words"),
    [
        ([FilterPart("", 9, None)], INVALID, "empty entity type"),
        ([FilterPart("user", EXACT, "u"), FilterPart("user", 9, None)], INVALID, "more than once"),
        ([FilterPart("group", 9, None)], UNSUPPORTED, "entity type group"),
        ([FilterPart("user", EXACT, None)], INVALID, "EXACT, but set match string to null"),
        ([FilterPart("user", DEFAULT, "u")], INVALID, "DEFAULT, but also"),
        ([FilterPart("user", SPECIFIED, "u")], INVALID, "SPECIFIED, but also"),
        ([FilterPart("user", 3, None)], INVALID, "Unknown match type 3"),
        ([FilterPart("ip", DEFAULT, None), FilterPart("user", EXACT, "u")], INVALID, "IP filter"),
    ],
)
def test_what_is_none(parts: list[FilterPart], code: ErrorCode, words: str) -> None:
    with pytest.raises(KafkaError, match=words) as refusal:
        check_filter(parts)
    assert refusal.value.code is code

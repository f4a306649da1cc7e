from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_names import collision_key, is_legal, validate_topic_name

LONG = "x" * 250
CHARACTERS = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"


@pytest.mark.parametrize("name", ["a", "A-1._b", "...", "x" * 249, "__consumer_offsets", "0"])
def test_legal_names(name: str) -> None:
    validate_topic_name(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        (LONG, f"the length of '{LONG}' is longer than the max allowed length 249"),
        ("a b", f"'a b' {CHARACTERS}"),
        ("bad/name", f"'bad/name' {CHARACTERS}"),
        ("ünï", f"'ünï' {CHARACTERS}"),
        ("a\0b", f"'a\0b' {CHARACTERS}"),
        ("a\n", f"'a\n' {CHARACTERS}"),
        ("٣", f"'٣' {CHARACTERS}"),
    ],
)
def test_illegal_names_in_kafkas_words(name: str, problem: str) -> None:
    with pytest.raises(KafkaError) as refused:
        validate_topic_name(name)
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused.value.message == f"Topic name is invalid: {problem}"


def test_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") != collision_key("a-b-c")


@pytest.mark.parametrize(("name", "legal"), [("a", True), ("", False), ("a/b", False)])
def test_whether_a_name_is_legal(name: str, legal: bool) -> None:
    assert is_legal(name) == legal

"""What a broker refused, in one line."""

from __future__ import annotations

import pytest

from kafkalite.cli.refusals import Refusal


@pytest.mark.parametrize(
    ("refusal", "line"),
    [
        (
            Refusal(36, "Topic 'a' already\nexists."),
            "Topic 'a' already exists (TOPIC_ALREADY_EXISTS); --if-not-exists passes over it",
        ),
        (
            Refusal(3),
            "there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION); "
            "`kafkalite topics list` lists those there are",
        ),
        (Refusal(17), "no topic can have this name (INVALID_TOPIC_EXCEPTION)"),
        (Refusal(37, "too few"), "too few (INVALID_PARTITIONS)"),
        (Refusal(5, ""), "LEADER_NOT_AVAILABLE"),
        (Refusal(9999, "who knows"), "who knows (error 9999)"),
        (Refusal(9999), "error 9999"),
    ],
)
def test_it_says_what_and_what_to_do(refusal: Refusal, line: str) -> None:
    assert str(refusal) == line


@pytest.mark.parametrize(
    ("refusal", "code"),
    [(Refusal(36, "it is there"), "TOPIC_ALREADY_EXISTS"), (Refusal(69), "GROUP_ID_NOT_FOUND")],
)
def test_machines_get_the_code_and_the_line_that_people_get(refusal: Refusal, code: str) -> None:
    assert refusal.document() == {"code": code, "message": str(refusal)}

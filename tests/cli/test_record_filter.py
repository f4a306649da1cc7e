"""Which records are shown."""

from __future__ import annotations

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.record_filter import TextFilter


@pytest.mark.parametrize(
    ("text", "content", "matches"),
    [
        ("b.c", b"a b.c d", True),
        ("b.c", b"abxcd", False),
        ("/b.c/", b"abxcd", True),
        ("/^b/", b"ab", False),
        ("/(?i)B/", b"ab", True),
        ("/", b"a/b", True),
        ("//", b"", True),
        ("", b"anything", True),
        ("ü", "für".encode(), True),
        ("a", b"\xffa", True),
        ("", None, False),
    ],
)
def test_a_text_or_an_expression(text: str, content: bytes | None, matches: bool) -> None:
    assert TextFilter(text, "--key").matches(content) is matches


def test_what_is_no_expression_is_told() -> None:
    with pytest.raises(WrongUseError, match=r"--value /\(/: no regular expression"):
        TextFilter("/(/", "--value")

"""What others wrote does not reach the terminal as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.cli.printable import printable, printable_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ü, 漢, 🙂", "plain, ü, 漢, 🙂"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("left\u202eright", r"left\u202eright"),
        ("a\u2028b", r"a\u2028b"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.binary())
def test_bytes_are_always_one_line_of_text(content: bytes) -> None:
    shown = printable_bytes(content)
    assert shown.encode().decode() == shown
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown


def test_bytes_that_are_no_text_are_spelt_out() -> None:
    assert printable_bytes(b"a\xff\x00") == r"a\xff\x00"

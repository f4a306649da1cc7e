"""The quick way to read `serve`'s options agrees with the library on all that it reads."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.cli.app import new_app
from kafkalite.cli.plain_options import read_plain
from kafkalite.cli.serve import serve

PLAIN = [
    [],
    ["--port", "0"],
    ["--port=19092"],
    ["--ephemeral", "--json"],
    ["--fsync", "--data", "d"],
    ["--data", "d"],
    ["--data=~/d", "--partitions", "3"],
    ["--topic", "a:3", "--topic=b"],
    ["--set", "listeners=PLAINTEXT://:0", "--set=num.partitions=3"],
    ["--config", "a", "--config", "b"],
    ["--ready-file", "r", "--log-format", "json"],
    ["--log-format=text"],
]
NOT_PLAIN = [
    ["--help"],
    ["-h"],
    ["more"],
    ["--"],
    ["-"],
    ["--port"],
    ["--port", "x"],
    ["--port", "-1"],
    ["--port", "٣"],
    ["--port", "1", "--port", "2"],
    ["--ephemeral=yes"],
    ["--ephemeral", "--ephemeral"],
    ["--data", ""],
    ["--data="],
    ["--data", "--json"],
    ["--log-format", "xml"],
    ["--log_format", "json"],
    ["--ready_file", "r"],
    ["--return", "x"],
    ["--no-json"],
    ["--prot", "1"],
    ["--=x"],
]
WORDS = sorted({word for words in PLAIN + NOT_PLAIN for word in words} | {"--set", "--topic"})


def by_the_library(words: list[str]) -> dict[str, Any]:
    _, bound, _ = new_app().parse_args(["serve", *words], exit_on_error=False, print_error=False)
    return dict(bound.arguments)


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_plain_words_are_read_as_the_library_reads_them(words: list[str]) -> None:
    read = read_plain(serve, words)
    assert read is not None
    assert read == by_the_library(words)
    signature(serve).bind(**read)


@pytest.mark.parametrize("words", NOT_PLAIN, ids=" ".join)
def test_all_else_is_left_to_the_library(words: list[str]) -> None:
    assert read_plain(serve, words) is None


@given(st.lists(st.sampled_from(WORDS), max_size=6))
def test_whatever_is_read_is_what_the_library_reads(words: list[str]) -> None:
    read = read_plain(serve, words)
    if read is not None:
        assert read == by_the_library(words)

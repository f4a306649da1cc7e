"""The format of `server.properties`, read as Java's `Properties.load` reads a file's bytes.

A logical line is `key=value`, `key:value` or `key value`, with blanks around the separator. A line
whose end is escaped goes on in the next one, without that one's leading blanks. Lines that begin
with `#` or `!` are comments and do not go on. `\\t`, `\\n`, `\\r`, `\\f` and `\\uXXXX` mean what
they do in Java; before any other character a backslash vanishes. Of a key that is there twice, the
last value holds. Blanks at a value's end belong to it.

A byte is a character of Latin-1, whatever the editor thought: so does Kafka read it, and so a
UTF-8 file is read as Kafka would. What is not ASCII is written with `\\uXXXX`.

Source: the documentation of `java.util.Properties`; `tests/config/properties-answers.jsonl` has
what Java's own made of some hundred texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_END_OF_LINE = re.compile(r"\r\n|[\r\n]")
_BLANKS = " \t\f"
_COMMENTS = ("#", "!")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x19\x1b-\x1f]")
"""Bytes that are characters of no text, in any encoding that Java would read as Latin-1."""
_MEANINGS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(ValueError):
    """Text that Java refuses; the message says why."""


class Property(NamedTuple):
    """One that holds."""

    value: str
    line: int
    """Where it begins, from 1."""


def parse_properties(data: bytes) -> dict[str, Property]:
    """By key, in the order of the file. `PropertiesError` for a `\\u` without four hex digits."""
    values = {}
    for number, line in _logical_lines(data.decode("latin-1")):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        values[_unescape(key[0])] = Property(_unescape(line[separator.end() :]), number)
    return values


def is_text(data: bytes) -> bool:
    """Whether somebody can have written this. Java reads any file as properties."""
    return _NO_TEXT.search(data) is None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Without comments and empty ones, joined where their ends are escaped; each with the number of
    its first natural line."""
    line = ""
    first = 0
    goes_on = False
    natural_lines = _END_OF_LINE.split(text)
    if not natural_lines[-1]:
        del natural_lines[-1]  # The last one's end begins no other.
    for number, natural in enumerate(natural_lines, 1):
        stripped = natural.lstrip(_BLANKS)
        if not line and stripped.startswith(_COMMENTS):
            goes_on = False
            continue
        if not goes_on:
            first = number
        backslashes = len(stripped) - len(stripped.rstrip("\\"))
        goes_on = backslashes % 2 == 1
        line += stripped[:-1] if goes_on else stripped
        if not goes_on and line:
            yield first, line
            line = ""
    if goes_on:
        yield first, line  # Even if it is empty: then it sets the empty key.


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    whole = _ESCAPE.sub(_meaning, text)
    if whole.isascii():
        return whole
    # Two halves of a surrogate pair are one character; of one alone Java writes a question mark.
    joined = whole.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return joined.encode(errors="replace").decode()


def _meaning(escape: re.Match[str]) -> str:
    digits, character = escape.groups()
    if digits is not None:
        return chr(int(digits, 16))
    if character == "u":
        raise PropertiesError("\\u without the four hexadecimal digits of a character")
    return _MEANINGS.get(character, character)

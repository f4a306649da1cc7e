r"""Logins in the format of Java's JAAS: one value of `sasl.jaas.config`, or a whole file, as
`java.security.auth.login.config` names it.

    listener.KafkaServer {                                  // in a file only: a section
        org.apache.kafka.common.security.plain.PlainLoginModule required
            username="admin"
            user_alice="alice-secret";
    };

Both are cut into tokens as Java's `StreamTokenizer` does it: `//`, `/*` and a lone `/` begin a
comment; a quoted text ends at its quote or its line, and knows `\n`, `\t`, `\101` and the like; a
text of digits alone is no text unless it is quoted.

Source: Kafka's `JaasConfig` (a value), Java's `sun.security.provider.ConfigFile` (a file); the
tests have their answers. The messages are ours.

Kafka differs: in a file it takes anything for the name of a section, a number and `'x'` too.

What is wrong is told without what stands there, which may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from kafkalite.errors import ErrorCode, KafkaError

_FLAGS = ("required", "requisite", "sufficient", "optional")
_PATTERN = r"""
    (?P<blank>[\0-\x20]+|/\*(?:.*?\*/|.*)|/[^\r\n]*)
    |(?P<number>-?[0-9.](?:(?<=\.)[0-9]*|[0-9]*\.?[0-9]*))
    |(?P<word>[A-Za-z\xa0-\U0010ffff$_%s][A-Za-z\xa0-\U0010ffff$_%s0-9.-]*)
    |(?P<quoted>(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\\r\n])*)(?:(?P=quote)|\\?))
    |(?P<other>.)
"""
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\r": "\\r", "\n": "\\n"}
_PROPERTY = re.compile(r"\$\{(?:\{(?P<kept>[^}]*)\}\}|(?P<name>[^}]*)\})")
_FILE_SEPARATOR = "/"


class JaasEntry(NamedTuple):
    """One login."""

    module: str
    """The Java class that would do it."""
    flag: str
    """`required`, `requisite`, `sufficient` or `optional`."""
    options: Mapping[str, str]


class JaasError(KafkaError):
    """What is no such text: INVALID_CONFIG, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)


def parse_jaas_value(text: str) -> tuple[JaasEntry, ...]:
    """The logins of one value, at least one. `JaasError` for what is none."""
    tokens = _Tokens(text, _OF_A_VALUE)
    entries = []
    while not tokens.is_at_end:
        entries.append(_entry(tokens))
    if not entries:
        raise JaasError("it is empty; expected a login module, as MODULE required KEY=VALUE;")
    return tuple(entries)


def parse_jaas_file(
    text: str, properties: Mapping[str, str] = MappingProxyType({})
) -> dict[str, tuple[JaasEntry, ...]]:
    """The logins of each section. `${NAME}` in a value stands for what `properties`, which are
    Java's system properties, have of it. `JaasError` for what is no such file; it names the
    line."""
    tokens = _Tokens(text, _OF_A_FILE)
    sections: dict[str, tuple[JaasEntry, ...]] = {}
    while not tokens.is_at_end:
        name = tokens.text("the name of a section")
        tokens.skip("{")
        entries = []
        while tokens.mark != "}":
            entries.append(_entry(tokens, properties))
        tokens.skip("}")
        tokens.skip(";")
        if name in sections:
            raise JaasError(f"section {name} is there twice")
        sections[name] = tuple(entries)
    return sections


def quoted(text: str) -> str:
    """As a name or a value in a text of JAAS."""
    return '"' + re.sub(r'["\\\r\n]', lambda found: _ESCAPES[found[0]], text) + '"'


def _entry(tokens: _Tokens, properties: Mapping[str, str] | None = None) -> JaasEntry:
    module = tokens.text("a login module")
    where = tokens.where
    flag = tokens.text("a control flag").lower()
    if flag not in _FLAGS:
        raise JaasError(f"{where}{flag} is no control flag: {', '.join(_FLAGS)} are")
    options = {}
    while tokens.mark != ";":
        key = tokens.text("an option or ;")
        tokens.skip("=")
        where = tokens.where
        value = tokens.text(f"the value of {key}")
        options[key] = value if properties is None else _expanded(value, properties, where)
    tokens.skip(";")
    return JaasEntry(module, flag, options)


def _expanded(value: str, properties: Mapping[str, str], where: str) -> str:
    def replace(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if name == _FILE_SEPARATOR:
            return _FILE_SEPARATOR
        if name not in properties:
            raise JaasError(f"{where}the system property {name} is not set")
        return properties[name]

    expanded = _PROPERTY.sub(replace, value)
    if value and not expanded:
        raise JaasError(f"{where}{value} stands for nothing")
    return expanded


class _Kind(Enum):
    """As a complaint tells it."""

    TEXT = "a text"
    QUOTED = "a text in single quotes, which a file does not know"
    NUMBER = "a number, which has to be quoted"
    MARK = "a mark"
    """One character that is no text."""
    END = "the end"


class _Token(NamedTuple):
    kind: _Kind
    text: str
    line: int


class _Rules(NamedTuple):
    """What a file has otherwise than a value."""

    token: re.Pattern[str]
    quotes: str
    tells_line: bool


def _rules(more_word_characters: str, quotes: str, *, tells_line: bool) -> _Rules:
    written = _PATTERN % (more_word_characters, more_word_characters)
    return _Rules(re.compile(written, re.VERBOSE | re.DOTALL), quotes, tells_line)


_OF_A_VALUE = _rules("", "\"'", tells_line=False)
_OF_A_FILE = _rules("*", '"', tells_line=True)


class _Tokens:
    """Of a text, one after the other."""

    def __init__(self, text: str, rules: _Rules) -> None:
        self._tells_line = rules.tells_line
        self._left = _cut(text, rules)
        self._next = next(self._left)

    @property
    def is_at_end(self) -> bool:
        return self._next.kind is _Kind.END

    @property
    def mark(self) -> str | None:
        """The mark that is next; None: none is."""
        return self._next.text if self._next.kind is _Kind.MARK else None

    @property
    def where(self) -> str:
        """As the beginning of a complaint about the next one."""
        return f"line {self._next.line}: " if self._tells_line else ""

    def text(self, wanted: str) -> str:
        """The next one, which is `wanted`."""
        if self._next.kind is not _Kind.TEXT:
            self._refuse(wanted)
        return self._take()

    def skip(self, mark: str) -> None:
        """Past that mark, which is due."""
        if self.mark != mark:
            self._refuse(mark)
        self._take()

    def _take(self) -> str:
        text = self._next.text
        self._next = next(self._left, self._next)
        return text

    def _refuse(self, wanted: str) -> NoReturn:
        found = self.mark or self._next.kind.value
        raise JaasError(f"{self.where}expected {wanted}, found {found}")


def _cut(text: str, rules: _Rules) -> Iterator[_Token]:
    line = 1
    for found in rules.token.finditer(text):
        match found.lastgroup:
            case "word":
                yield _Token(_Kind.TEXT, found[0], line)
            case "quoted":
                kind = _Kind.TEXT if found["quote"] in rules.quotes else _Kind.QUOTED
                yield _Token(kind, _ESCAPE.sub(_unescaped, found["text"]), line)
            case "number":
                yield _Token(_Kind.NUMBER, found[0], line)
            case "other":
                yield _Token(_Kind.MARK, found[0], line)
        line += found[0].count("\n")
    yield _Token(_Kind.END, "", line)


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, escape)

"""What is wrong with a command line, and what is right, in one line: the words for what the library
that reads command lines (cyclopts) finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Literal, get_args, get_origin, get_type_hints

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    Token,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
    convert,
)

_WHOLE = re.compile(r"[+-]?\d{1,1000}", re.ASCII)


def convert_strictly(kind: type, tokens: Sequence[Token]) -> object:
    """As the library does, but of numbers only whole ones are taken: it rounds others."""
    if int in (kind, *get_args(kind)):
        for token in tokens:
            if not _WHOLE.fullmatch(token.value):
                raise ValueError("expected a whole number")
    return convert(kind, tokens)


def from_to(first: float, last: float) -> Callable[[object, object], None]:
    """A validator: a number, or each of several, is one of these; `last` is inclusive."""

    def check(_: object, value: object) -> None:
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float) and not first <= number <= last:
                raise ValueError(f"{number} is not from {first} to {last}")

    return check


def what_is_wrong(error: CycloptsError) -> str:
    """A line without the program's name."""
    words = ["kafkalite", *(error.command_chain or ())]
    manual = f"`{' '.join(words)} --help` tells what there is"
    match error:
        case UnknownCommandError(unused_tokens=[word, *_], app=app) if app is not None:
            if word.startswith("-"):
                return f"there is no option {word}; {manual}"
            names = [name for name in app if not name.startswith("-")]
            return f"there is no command {word}{_meant(word, names)}; there are {', '.join(names)}"
        case UnknownOptionError():
            word = error.token.keyword or error.token.value
            options = [name for each in error.argument_collection for name in each.names]
            return f"there is no option {word}{_meant(word, options)}; {manual}"
        case UnusedCliTokensError(unused_tokens=[word, *_], target=target) if _takes_many(target):
            return f"{word}: such words stand together, before the options or behind; {manual}"
        case UnusedCliTokensError(unused_tokens=[word, *_]):
            return f"{word}: there is one word too many; {manual}"
        case MissingArgumentError():
            return f"{_missing(error)}; {manual}"
        case RepeatArgumentError():
            return f"{error.token.keyword} can be said only once"
        case CoercionError(token=token) if token is not None:
            return f"{_said(error, token)}: {_expected(error)}"
        case ValidationError(argument=argument) if argument is not None and argument.tokens:
            token = argument.tokens[0]
            said = token.keyword or _said(error, token)
            return f"{said}: {error.exception_message}"
        case _:
            return " ".join(str(error).split())


def _takes_many(command: Callable[..., object] | None) -> bool:
    """Whether it has an argument of any number of words."""
    kinds = {} if command is None else get_type_hints(command)
    return list[str] in kinds.values()


def _meant(word: str, names: Sequence[str]) -> str:
    close = get_close_matches(word, names, n=1)
    return f" (is it {close[0]}?)" if close else ""


def _missing(error: MissingArgumentError) -> str:
    argument = error.argument
    assert argument is not None
    shown = argument.parameter.name_transform(argument.field_info.name).upper()
    shown = argument.parameter.metavar or shown.replace("-", "_")
    option = error.keyword or argument.name
    return f"{option} needs a value" if option.startswith("-") else f"{shown} is missing"


def _said(error: CycloptsError, token: Token) -> str:
    """The option and its value, as somebody wrote them, or the value with the argument's name."""
    if token.keyword is not None:
        return f"{token.keyword} {token.value}".rstrip()
    name = error.argument.name.lstrip("-").upper() if error.argument is not None else "VALUE"
    return f"{name} {token.value}".rstrip()


def _expected(error: CoercionError) -> str:
    if error.msg is not None:
        return str(error.msg)
    kind = error.target_type
    if get_origin(kind) is Literal:
        *most, last = map(str, get_args(kind))
        return f"expected {', '.join(most)} or {last}"
    if kind is bool:
        return "it takes no value"
    return "expected a number" if float in (kind, *get_args(kind)) else "expected something else"

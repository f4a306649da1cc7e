"""Reads a plain command line straight into the arguments of a command's function.

`serve` has to be ready within 0.2 s, of which the library that reads command lines (cyclopts) would
take a third. So where every word is an option that the function has, with a value of its type, it
is read here; all else (help, mistakes, short forms) is left to the library, which reads the same
function. Tests hold that the two agree on all that is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args, get_type_hints

from kafkalite.cli.whole_numbers import read_whole


# `Any`: each argument has the type of its parameter.
def read_plain(command: Callable[..., object], words: Sequence[str]) -> dict[str, Any] | None:
    """Keyword arguments for `command`; None when the words are not plain.

    Its parameters are keywords of the types `bool`, `str`, `int`, `Literal`, each also `| None`, or
    `tuple[str, ...]` for what may be repeated.
    """
    kinds = get_type_hints(command)
    kinds.pop("return", None)
    arguments: dict[str, Any] = {}  # As above.
    rest = iter(words)
    for word in rest:
        option, equals, text = word.partition("=")
        name = option[2:].replace("-", "_")
        if option != "--" + name.replace("_", "-") or name not in kinds:
            return None
        kind = kinds[name]
        is_many = kind == tuple[str, ...]
        if name in arguments and not is_many:
            return None
        if kind is bool:
            if equals:
                return None
            arguments[name] = True
            continue
        if not equals:
            text = next(rest, "")
        if not text or text.startswith("-"):
            return None
        if is_many:
            arguments[name] = (*arguments.get(name, ()), text)
            continue
        value = _value(kind, text)
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _value(kind: object, text: str) -> str | int | None:
    """None: not plainly of that type."""
    kinds = get_args(kind) or (kind,)
    if text in kinds or str in kinds:  # One of a `Literal`, or any text.
        return text
    return read_whole(text) if int in kinds else None

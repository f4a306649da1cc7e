"""The help of every command calls values by words of people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

from cyclopts import App
from rich.console import Console

from kafkalite.cli.app import new_app

OPTION = re.compile(r"│ +(?P<names>-[-a-z]+(?: -[a-z])?) (?P<word>[A-Z]\S*)", re.MULTILINE)


def commands(app: App, *before: str) -> Iterator[tuple[str, ...]]:
    """All of them, and those of which they are parts."""
    for name in app:
        if not name.startswith("-"):
            yield (*before, name)
            yield from commands(app[name], *before, name)


def words() -> dict[str, dict[str, str]]:
    """By command, by option."""
    app, found = new_app(), {}
    for command in commands(app):
        page = StringIO()
        app.help_print(list(command), console=Console(file=page, width=100))
        found[" ".join(command)] = {
            each["names"]: each["word"] for each in OPTION.finditer(page.getvalue())
        }
    return found


def test_no_value_is_called_by_its_type() -> None:
    found = words()
    assert found["serve"]["--topic"] == found["run"]["--topic"] == "NAME[:PARTITIONS]"
    assert found["serve"]["--partitions"] == found["topics create"]["--partitions"] == "NUMBER"
    assert found["produce"]["--key"] == "TEXT"
    assert found["consume"]["--key"] == "TEXT|/REGEX/", "its own word is stronger"
    assert found["cluster status"]["--watch"] == "SECONDS"
    all_words = {word for options in found.values() for word in options.values()}
    assert not {word for word in all_words if re.match("STR|INT|FLOAT|PATH|LIST|TUPLE", word)}


def test_an_option_has_the_same_word_in_every_command() -> None:
    by_option: dict[str, set[str]] = {}
    for options in words().values():
        for option, word in options.items():
            by_option.setdefault(option, set()).add(word)
    several = {option: found for option, found in by_option.items() if len(found) > 1}
    assert several.keys() <= {"--key"}, several

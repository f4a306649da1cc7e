"""Tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys

import pytest

from kafkalite.cli import output
from kafkalite.cli.errors import CommandError
from kafkalite.cli.output import Column, Output, Result, Row, print_heading
from kafkalite.cli.refusals import Refusal

COLUMNS = (Column("NAME", "name", style="bold"), Column("N", "n", is_number=True))
ROWS: list[Row] = [
    {"name": "a", "n": 1, "more": [1, 2]},
    {"name": "b\x1b[31m", "n": None, "more": []},
]
Screen = pytest.CaptureFixture[str]


def test_a_table_without_a_terminal_is_plain_aligned_text(capsys: Screen) -> None:
    Output().rows(COLUMNS, ROWS, none="nothing")
    assert capsys.readouterr() == ("NAME        N\na           1\nb\\x1b[31m   -\n", "")


def test_a_long_line_is_not_folded_without_a_terminal(capsys: Screen) -> None:
    name = "n" * 300
    Output().rows(COLUMNS, [{"name": name, "n": 1}], none="nothing")
    assert name in capsys.readouterr().out


def test_a_long_cell_is_no_padding_in_other_rows(capsys: Screen) -> None:
    columns = (COLUMNS[0], Column("VALUE", "value"), Column("FROM", "from"))
    rows: list[Row] = [
        {"name": "a", "value": "v" * 300, "from": "x"},
        {"name": "b", "value": "short", "from": "y"},
    ]
    Output().rows(columns, rows, none="nothing")
    assert capsys.readouterr().out.splitlines() == [
        "NAME   VALUE   FROM",
        f"a      {'v' * 300}   x",
        "b      short   y",
    ]


def test_names_of_settings_are_aligned(capsys: Screen) -> None:
    columns = (COLUMNS[0], Column("VALUE", "value"))
    name = "transaction.remove.expired.transaction.cleanup.interval.ms"
    rows: list[Row] = [{"name": name, "value": 1}, {"name": "a", "value": 2}]
    Output().rows(columns, rows, none="nothing")
    lines = capsys.readouterr().out.splitlines()
    assert [len(line) for line in lines[1:]] == [len(name) + 4] * 2


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60 columns."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(output, "_is_terminal", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_a_terminal_folds_no_name(capsys: Screen) -> None:
    columns = (COLUMNS[0], Column("VALUE", "value"), Column("FROM", "from"))
    name = "a.name.of.fourty.characters.and.not.less"
    rows: list[Row] = [{"name": name, "value": "v" * 50, "from": "x"}]
    Output().rows(columns, rows, none="nothing")
    first, second, *more = capsys.readouterr().out.splitlines()
    assert first.split() == ["NAME", "VALUE", "FROM"]
    assert second == f"{name}   {'v' * 20}   x"
    assert "".join(line.strip() for line in more) == "v" * 30


@pytest.mark.usefixtures("terminal")
def test_a_terminal_is_as_wide_as_it_is(capsys: Screen) -> None:
    columns = (COLUMNS[0], Column("VALUE", "value"), Column("FROM", "from"))
    rows: list[Row] = [{"name": "a", "value": "v" * 100, "from": "somebody's"}]
    Output().rows(columns, rows, none="nothing")
    assert max(map(len, capsys.readouterr().out.splitlines())) == 60


@pytest.mark.usefixtures("terminal")
def test_a_terminal_cuts_no_name_and_no_number(capsys: Screen) -> None:
    name = "n" * 100
    Output().rows(COLUMNS, [{"name": name, "n": 123456}], none="nothing")
    assert capsys.readouterr().out.splitlines()[1] == f"{name}   123456"


def test_a_closed_output_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    Output().rows(COLUMNS, ROWS, none="nothing")
    print_heading("a", "b")


def test_a_table_without_rows_is_a_word_to_people(capsys: Screen) -> None:
    Output().rows(COLUMNS, [], none="There is nothing.")
    assert capsys.readouterr() == ("", "There is nothing.\n")


def test_json_has_all_that_rows_have(capsys: Screen) -> None:
    Output(json=True).rows(COLUMNS, ROWS, none="nothing")
    assert json.loads(capsys.readouterr().out) == ROWS
    Output(json=True).rows(COLUMNS, [], none="nothing")
    assert capsys.readouterr() == ("[]\n", "")


def test_cells_are_words(capsys: Screen) -> None:
    cells = [True, False, None, "", [], [1, 2], 0]
    Output().rows((Column("C", "c"),), [{"c": cell} for cell in cells], none="")
    assert capsys.readouterr().out.split() == ["C", "yes", "no", "-", "-", "-", "1,2", "0"]


RESULTS = [
    Result("a", {"topic": "a", "made": True}, "made a"),
    Result("b", {"topic": "b", "made": False}, "", Refusal(37, "too few")),
]


def test_what_was_refused_comes_after_what_was_done(capsys: Screen) -> None:
    with pytest.raises(CommandError) as refused:
        Output().results(RESULTS)
    assert refused.value.args == ("b: too few (INVALID_PARTITIONS)",)
    assert capsys.readouterr() == ("made a\n", "")


def test_json_tells_of_each_thing_whether_it_was_done(capsys: Screen) -> None:
    with pytest.raises(CommandError):
        Output(json=True).results(RESULTS)
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "a", "made": True, "error": None},
        {
            "topic": "b",
            "made": False,
            "error": {"code": "INVALID_PARTITIONS", "message": "too few (INVALID_PARTITIONS)"},
        },
    ]

"""The habits of this code base that no other tool holds: sizes, twins, names, banned texts.

An exception is one line in a table below, with its reason.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.generate_messages import edited_by_hand

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kafkalite"
MESSAGES = PACKAGE / "protocol" / "messages"
APIS = PACKAGE / "server" / "apis"
NOT_OURS = (MESSAGES, ROOT / "tests" / "data", ROOT / "compat_tests" / "oracle")

MOST_LINES = 500
MEDIAN_LINES = 200
MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_HANDLER = 150
"""More of them, and what they decide wants a core of its own."""
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}
LONG_HANDLERS: dict[str, str] = {}
FOLDERS = ("kafkalite", "tests", "compat_tests", "tools", "benchmarks")
PURE = ("config", "controller", "coordinator", "metadata", "protocol", "replica", "security")
"""Packages whose every file is covered by its own test file."""
WITHOUT_TWIN: dict[str, str] = {
    f"kafkalite/config/{subject}_keys.py": "a table: tests/config/test_broker_keys.py judges all"
    for subject in ("cluster", "coordinator", "log", "network", "sasl")
}
NOT_IMPORTED: dict[str, str] = {
    "kafkalite.__main__": "`python -m kafkalite` and the command run it",
}
BANNED_NAMES = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}
BANNED_TEXTS = {
    "a path of somebody's machine": r"(?<![\w.])/(work|root|home/\w+|Users/\w+)/",
    "a package registry's host": r"pypi\.org|pythonhosted|maven\.org|npmjs\.|crates\.io",
    "a folder outside the repository": r"\.\./shared",
    "how the code came about": r"(?i)claude|anthropic|\bLLM\b|sub-?agent|builder \d",
}
WITH_BANNED_TEXT: dict[str, str] = {
    "tests/test_tidy.py": "names them",
}
TEXT_SUFFIXES = {
    *("", ".cfg", ".go", ".ini", ".java", ".js", ".json", ".md", ".properties", ".py", ".rs"),
    *(".sh", ".toml", ".xml"),
}
BUILT = {"__pycache__", "build", "node_modules", "target"}
"""Folders of what comes out of building, or was installed for it."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def files_in(folder: str) -> list[Path]:
    """All below that folder of the repository, but what was built there: it may be a great many."""
    found = []
    for place, folders, names in os.walk(ROOT / folder):
        folders[:] = sorted(set(folders) - BUILT)
        found += [Path(place, name) for name in sorted(names)]
    return found


def sources_in(folder: str) -> list[Path]:
    return [
        path
        for path in files_in(folder)
        if path.suffix == ".py" and not any(path.is_relative_to(other) for other in NOT_OURS)
    ]


@cache
def sources() -> list[Path]:
    """All Python that people write here."""
    return [path for folder in FOLDERS for path in sources_in(folder)]


class Facts(NamedTuple):
    """What is asked of a file of Python. They stay; its tree goes: all together are large."""

    docstring: str | None
    functions: list[tuple[str, int]]
    """Name and lines of each, nested ones too."""
    from_imports: list[str]
    """Modules, and names in them that may be modules; of the product alone, as what follows."""
    other_names: list[str]
    """Modules of import statements without `from`, and strings, which may be dotted names."""


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All, of all depths. Most of a tree is expressions, through which it takes long to walk."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, field, None)
            if isinstance(below, list):
                left += below


@cache
def facts(path: Path) -> Facts:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = Facts(ast.get_docstring(tree), [], [], [])
    for node in ast.walk(tree) if path.is_relative_to(PACKAGE) else statements(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                assert node.end_lineno is not None
                size = node.end_lineno - node.lineno + 1
                found.functions.append((f"{relative(path)}:{node.name}", size))
            case ast.ImportFrom(module=str(module)):
                found.from_imports.append(module)
                found.from_imports.extend(f"{module}.{alias.name}" for alias in node.names)
            case ast.Import():
                found.other_names.extend(alias.name for alias in node.names)
            case ast.Constant(value=str(value)):
                found.other_names.append(value)
    return found


def judge(found: Iterable[str], exceptions: Mapping[str, str]) -> None:
    """Nothing is found but what has an exception, and no exception outlives its reason."""
    names = {entry.partition(" ")[0] for entry in found}
    news = [entry for entry in found if entry.partition(" ")[0] not in exceptions]
    assert not news, "\n".join(["", *sorted(news)])
    assert not exceptions.keys() - names, "these exceptions are not needed any more"


@cache
def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_long() -> None:
    long = [f"{relative(p)} has {lines(p)} lines" for p in sources() if lines(p) > MOST_LINES]
    judge(long, LONG_FILES)


def test_files_are_short_as_a_rule() -> None:
    logic = [lines(path) for path in sources() if path.name != "__init__.py"]
    assert statistics.median(logic) <= MEDIAN_LINES


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_is_long(folder: str) -> None:
    long = [
        f"{name} has {size} lines"
        for path in sources_in(folder)
        for name, size in facts(path).functions
        if size > MOST_LINES_OF_A_FUNCTION
    ]
    exceptions = {name: why for name, why in LONG_FUNCTIONS.items() if name.startswith(folder)}
    judge(long, exceptions)


def test_no_handler_is_long() -> None:
    long = [
        f"{relative(path)} has {lines(path)} lines"
        for path in sources()
        if path.parent == APIS and lines(path) > MOST_LINES_OF_A_HANDLER
    ]
    judge(long, LONG_HANDLERS)


def test_each_file_of_a_pure_core_has_its_test_file() -> None:
    without = []
    for package in PURE:
        tests = {path.stem for path in (ROOT / "tests" / package).rglob("test_*.py")}
        for path in (PACKAGE / package).rglob("*.py"):
            if path.is_relative_to(MESSAGES) or path.name == "__init__.py":
                continue
            if f"test_{path.stem}" not in tests:
                without.append(relative(path))
    judge(without, WITHOUT_TWIN)


def test_no_module_has_a_name_that_says_nothing() -> None:
    paths = [path for path in sources() if {path.stem, path.parent.name} & BANNED_NAMES]
    assert paths == []


def test_every_package_says_what_it_is() -> None:
    silent = [p for p in PACKAGE.rglob("__init__.py") if facts(p).docstring is None]
    assert silent == []


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_module_is_dead() -> None:
    """Imported from the product itself; a module that only tests import is none of the
    product's. Of the APIs the table of them is judged: it loads by name."""
    ours = [p for p in sources() if p.is_relative_to(PACKAGE)]
    used = {name for path in ours for name in (*facts(path).from_imports, *facts(path).other_names)}
    for_users = PACKAGE / "testing"
    dead = [
        module_name(path)
        for path in ours
        if path.name != "__init__.py" and not path.is_relative_to(for_users)
        if path.parent != APIS or path.name in ("api.py", "table.py")
    ]
    judge([name for name in dead if name not in used], NOT_IMPORTED)


def test_no_modules_import_each_other() -> None:
    """Not round a corner either, nor at first use, nor for types alone. `graphlib` names one
    circle when there is any."""
    modules = {module_name(path): path for path in sources() if path.is_relative_to(PACKAGE)}
    imports = {
        name: {other for other in facts(path).from_imports if other in modules and other != name}
        for name, path in modules.items()
    }
    TopologicalSorter(imports).prepare()


def test_each_api_is_in_the_table_once_in_key_order() -> None:
    from kafkalite.server.apis.cluster_table import CLUSTER_APIS
    from kafkalite.server.apis.table import APIS as TABLE

    others = {"__init__", "api", "table", "cluster_table"}
    files = {path.stem for path in APIS.glob("*.py")} - others
    names = [str(vars(each)["__name__"]).rpartition(".")[2] for each in (*TABLE, *CLUSTER_APIS)]
    assert sorted(names) == sorted(files)
    for table, between_brokers in ((TABLE, False), (CLUSTER_APIS, True)):
        keys = [module.API.key for module in table]
        assert keys == sorted(set(keys))
        assert {module.API.between_brokers for module in table} == {between_brokers}


def test_what_the_controller_decides_for_clients_may_be_asked_of_any_broker() -> None:
    from kafkalite.server.apis.table import APIS as TABLE

    for module in TABLE:
        asks = "controller.submit(" in inspect.getsource(module.handle)
        assert module.API.by_controller or not asks, module.API.key.name


def test_generated_messages_are_not_edited_by_hand() -> None:
    assert edited_by_hand(MESSAGES) == []


@cache
def texts() -> list[tuple[str, str]]:
    """Path and content of each text that goes into the repository."""
    paths = [path for folder in (*FOLDERS, "docs", ".ci") for path in files_in(folder)]
    return [
        (relative(path), path.read_text(encoding="utf-8"))
        for path in [*paths, *ROOT.glob("*.*"), ROOT / "Makefile"]
        if path.suffix in TEXT_SUFFIXES and path.is_file()
    ]


@pytest.mark.parametrize("what", BANNED_TEXTS)
def test_no_text_mentions(what: str) -> None:
    pattern = re.compile(BANNED_TEXTS[what])
    found = {
        f"{name}: {match.group()}"
        for name, text in texts()
        if name not in WITH_BANNED_TEXT and not name.startswith("tests/data/log-dirs/")
        for match in pattern.finditer(text)
    }
    assert found == set()

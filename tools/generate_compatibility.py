"""Writes docs/compatibility.md: what of Kafka is here, how we know, and where we differ.

    tools/generate_compatibility.py [--check]

`--check` writes nothing and fails when the page is old. Nothing on the page is written by hand but
the sentences below; `compatibility_facts.py` says where the rest has its home.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from kafkalite.protocol.api_keys import FACTS
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.apis.table import APIS
from tools.compatibility_evidence import (
    advertised,
    clients_of_kafka,
)
from tools.compatibility_facts import (
    ROOT,
    Difference,
    cases_that_differ,
    differences,
    golden,
)
from tools.compatibility_how_we_know import how_we_know, name_of
from tools.compatibility_settings import features, settings
from tools.markdown import paragraph, table, version_range

PAGE = ROOT / "docs" / "compatibility.md"
KAFKA = "Apache Kafka 4.4.0"
_AREAS = {
    "server/apis/": "Requests",
    "server/": "Broker",
    "ports/": "Broker",
    "cli/": "Broker",
    "controller/": "Controller and metadata",
    "metadata/": "Controller and metadata",
    "stores/": "Controller and metadata",
    "coordinator/": "Groups",
    "replica/": "Replication",
    "log/": "Log on disk",
    "protocol/": "Protocol",
    "security/": "Security",
    "config/": "Settings",
    "": "Elsewhere",
}
"""Headings for differences, by where they stand; the first that fits."""


def page() -> str:
    """The whole file."""
    parts = [*_top(), *_served(), *_not_served(), *features(), *settings(), *_differences()]
    return "\n".join(parts) + "\n"


def _top() -> Iterator[str]:
    served, advertised = len(APIS), len(_kafkas_apis())
    yield from (
        "<!-- Made by tools/generate_compatibility.py (`make docs`); do not edit. -->",
        "# Compatibility",
        "",
        f"The measure is {KAFKA}. What a client or a tool sees here is what it would see there."
        " Where it is not, that is a bug, or it stands on this page with its reason.",
        "",
        f"Of the {advertised} APIs that Kafka offers to clients, {served} are served so far."
        " ApiVersions lists those and no others, so clients know.",
        "",
    )


# APIs.


def _served() -> Iterator[str]:
    yield "## Served"
    yield ""
    kafkas = _kafkas_apis()
    yield from table(
        ("key", "API", "served", "advertised", "Kafka advertises", "what it does", "missing"),
        (
            (
                str(int(module.API.key)),
                name_of(module.API),
                version_range(module.API.min_version, module.API.max_version),
                version_range(advertised(module.API)[0], module.API.max_version),
                version_range(*kafkas[module.API.key]),
                _purpose(module),
                module.API.missing or "nothing",
            )
            for module in APIS
        ),
    )
    yield from paragraph("Versions are inclusive. " + " ".join(_advertised_only()))
    missing = [(module, text) for module in APIS for text in _missing_of(module)]
    yield from (f"- **{name_of(module.API)}**: {text}" for module, text in missing)
    yield ""
    yield from how_we_know()


def _advertised_only() -> Iterator[str]:
    for api in (module.API for module in APIS):
        if api.advertised_min_version is not None:
            versions = version_range(api.advertised_min_version, api.min_version - 1)
            yield (
                f"{name_of(api)} {versions} are advertised for the sake of old clients and not"
                " served: the connection closes, as in Kafka."
            )


def _not_served() -> Iterator[str]:
    served = {module.API.key for module in APIS}
    users: dict[int, list[str]] = {}
    for (key, _), names in clients_of_kafka().items():
        users[key] = list(dict.fromkeys([*users.get(key, ()), *names]))
    yield "## Not served yet"
    yield ""
    yield from paragraph(
        "Kafka advertises these on a client's listener; here they come later. A request of one"
        " closes the connection, as an unknown API does in Kafka."
    )
    yield from table(
        ("key", "API", "Kafka's versions", "used by", "reason"),
        (
            (
                str(key),
                FACTS[key].name,
                version_range(*versions),
                ", ".join(users.get(key, ())) or "-",
                "later",
            )
            for key, versions in _kafkas_apis().items()
            if key not in served
        ),
    )
    others = [
        facts.name
        for key, facts in FACTS.items()
        if key not in _kafkas_apis() and "zkBroker" not in facts.listeners
    ]
    yield from paragraph(
        f"Kafka keeps {len(others)} more to brokers and controllers among themselves, and"
        " advertises them to no client: " + ", ".join(others) + "."
    )


def _kafkas_apis() -> dict[int, tuple[int, int]]:
    """Key to versions, as Kafka advertises on a client's listener, in key order."""
    rows = golden("api-versions.json")["broker"]["v4"]["apis"]
    return {row["key"]: (row["min"], row["max"]) for row in sorted(rows, key=lambda r: r["key"])}


def _docstring(module: ApiModule) -> str:
    file = ROOT / "kafkalite" / "server" / "apis" / f"{FACTS[module.API.key].module}.py"
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _purpose(module: ApiModule) -> str:
    """The first sentence of its file, without the API's name."""
    first = _docstring(module).partition("\n\n")[0].partition(": ")[2]
    return " ".join(first.partition(". ")[0].split()).rstrip(".")


def _missing_of(module: ApiModule) -> Iterator[str]:
    for text in inspect.cleandoc(_docstring(module)).split("\n\n"):
        if text.startswith("Missing: "):
            yield " ".join(text.removeprefix("Missing: ").split())


# Differences.


def _differences() -> Iterator[str]:
    yield "## Differences"
    yield ""
    yield from paragraph(
        "*It* is Kafka, *here* is kafkalite. Each of these stands in the code, behind the words"
        " `Kafka differs:`, in the file that is named."
    )
    found = differences()
    for area in dict.fromkeys(_AREAS.values()):
        of_area = [each for each in found if _area(each.path) == area]
        if of_area:
            yield f"### {area}"
            yield ""
            yield from (_difference(each) for each in of_area)
            yield ""
    yield "### Recorded requests that are answered otherwise on purpose"
    yield ""
    yield from (f"- `{case.name}`: {case.reason}." for case in cases_that_differ())


def _area(path: str) -> str:
    return next(area for start, area in _AREAS.items() if path.startswith(start))


def _difference(difference: Difference) -> str:
    link = f"[{difference.path}](../kafkalite/{difference.path})"
    about = f"`{difference.about}`: " if difference.about else ""
    return f"- {about}{difference.text} ({link})"


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Writes docs/compatibility.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it is old")
    options = parser.parse_args()
    wanted = page()
    if options.check:
        is_fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted
        print("fresh" if is_fresh else f"{PAGE.relative_to(ROOT)} is old: run `make docs`")
        return 0 if is_fresh else 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

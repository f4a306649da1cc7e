"""The part of the compatibility page about how we know: which tests hold a version against Kafka's,
and which clients ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkalite.protocol.api_keys import FACTS, ApiKey
from kafkalite.server.apis.api import Api
from kafkalite.server.apis.table import APIS
from tools.compatibility_evidence import (
    Evidence,
    advertised,
    bad_requests_for_later,
    bad_requests_held,
    clients_of_kafka,
    evidence,
    version_of,
)
from tools.compatibility_facts import cases_that_differ, golden
from tools.markdown import paragraph, table


def how_we_know() -> Iterator[str]:
    """The tables and lists of what tests and clients ask."""
    yield "### How we know"
    yield ""
    yield from paragraph(
        "`tests/data` holds what Apache Kafka 4.4.0 was asked and answered, byte for byte."
        " `compat_tests` puts requests again, to kafkalite and to the real Kafka, and compares the"
        " answers field by field: *answers compared*. A version without such an answer is not"
        " advertised: a test sees to that. *Admin answers* are held against Kafka's in the same"
        " way, but the requests (`tests/server/admin-answers.jsonl`) are put to kafkalite alone,"
        " within the test's process. *Round trips* are recorded exchanges that our codecs decode,"
        " and encode to the same bytes. *Bad requests* are those whose outcome, error codes and"
        " messages must be Kafka's. Clients run unmodified in `compat_tests`, and were seen to ask"
        " for that version while their tests ran; those in brackets asked the real Kafka for it"
        " when the exchanges were recorded, and in no test here that is on record. Kafka's command"
        " line tools run in `compat_tests/java` too, and are not on record yet."
    )
    found, at_kafka = evidence(), clients_of_kafka()
    yield from table(
        (
            "API",
            "version",
            "answers compared",
            "admin answers",
            "round trips",
            "bad requests",
            "clients",
        ),
        (
            (
                name_of(module.API),
                str(version),
                str(known.compared),
                str(known.compared_here),
                str(known.round_trips),
                str(len(known.bad_requests)),
                _clients(known, at_kafka.get((module.API.key, version), [])),
            )
            for module in APIS
            for version in advertised(module.API)
            for known in (found[module.API.key, version],)
        ),
    )
    yield from _bad_requests()


def _bad_requests() -> Iterator[str]:
    held, differ = bad_requests_held(), cases_that_differ()
    yield from paragraph(
        f"Of the {len(golden('errors.json'))} bad requests these {len(held)} are answered as by"
        f" Kafka; {len(differ)} are answered otherwise on purpose, see the end of this page:"
    )
    for module in APIS:
        for version in advertised(module.API):
            names = [row["case"] for row in held if version_of(row) == (module.API.key, version)]
            if names:
                yield f"- {name_of(module.API)} {version}: {_cases(names)}."
    served = {(module.API.key, each) for module in APIS for each in advertised(module.API)}
    others = [row["case"] for row in held if version_of(row) not in served]
    yield f"- Of no API and version that is served, or no request at all: {_cases(others)}."
    yield ""
    later = bad_requests_for_later()
    count = sum(len(each.cases) for each in later)
    yield f"These {count} are not put to kafkalite yet:"
    yield ""
    for each in later:
        yield f"- {FACTS[ApiKey(each.key)].name}, {each.reason}: {_cases(each.cases)}."
    yield ""


def _cases(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _clients(known: Evidence, at_kafka: list[str]) -> str:
    """A client counts in each of its releases: `Java` as `Java 4.4`."""
    others = [
        f"({name})" for name in at_kafka if not any(each.startswith(name) for each in known.clients)
    ]
    return ", ".join([*known.clients, *others]) or "-"


def name_of(api: Api) -> str:
    """As Kafka's documents have it: `ApiVersions`."""
    return FACTS[api.key].name

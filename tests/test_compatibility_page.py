"""docs/compatibility.md is what its generator makes, and what it says of a running broker is so."""

from __future__ import annotations

import re

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.record_checks import BATCH_BYTES, BATCH_RECORDS
from kafkalite.protocol.api_keys import FACTS, ApiKey
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.records.times import LOOKUP_BYTES, LOOKUP_RECORDS
from kafkalite.server.apis.table import APIS
from kafkalite.server.receive_buffer import STALL_BYTES, STALL_MS
from tests.server.running import Running, served
from tools.compatibility_evidence import (
    Evidence,
    advertised,
    bad_requests_for_later,
    evidence,
    without_evidence,
)
from tools.compatibility_facts import (
    GENERATED,
    MARK,
    PACKAGE,
    Difference,
    cases_that_differ,
    differences,
    differences_in,
    golden,
    paragraphs,
)
from tools.generate_compatibility import PAGE, page

TEXT = PAGE.read_text(encoding="utf-8")
KEYS = {facts.name: key for key, facts in FACTS.items()}
KAFKAS = {row["key"]: row for row in golden("api-versions.json")["broker"]["v4"]["apis"]}


def table(heading: str) -> list[dict[str, str]]:
    """The first table below a heading of the committed page, by its columns' names."""
    below = TEXT.partition(f"\n{heading}\n")[2]
    lines = below[below.index("|") :].partition("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def versions(text: str) -> tuple[int, int]:
    """`3 to 13`, inclusive; `0`."""
    first, _, last = text.partition(" to ")
    return int(first), int(last or first)


def test_the_page_is_fresh() -> None:
    assert page() == TEXT, "run `make docs`"


def test_every_api_of_kafka_is_on_the_page_once() -> None:
    here = [int(row["key"]) for row in table("## Served")]
    later = [int(row["key"]) for row in table("## Not served yet")]
    assert here == [module.API.key for module in APIS]
    assert sorted(here + later) == sorted(KAFKAS)


def test_each_version_that_is_advertised_is_held_against_kafka() -> None:
    assert without_evidence([module.API for module in APIS], evidence()) == []


@pytest.mark.parametrize("gap", [(3, 4), (0, 1), (18, 5), (22, 0), (42, 3)])
def test_a_version_that_no_test_compares_is_named(gap: tuple[int, int]) -> None:
    """Also one that is advertised and not served, and those with a test of their own."""
    found = evidence()
    found[gap] = found[gap]._replace(compared=0)
    name = ApiKey(gap[0]).name
    assert without_evidence([module.API for module in APIS], found) == [f"{name} {gap[1]}"]
    del found[gap]
    assert without_evidence([module.API for module in APIS], found) == [f"{name} {gap[1]}"]


def test_the_page_shows_the_evidence_of_each_version() -> None:
    """Each place where it could come from gives some."""
    known = evidence()
    rows = {(row["API"], int(row["version"])): row for row in table("### How we know")}
    assert len(rows) == sum(len(advertised(module.API)) for module in APIS)
    for (name, version), row in rows.items():
        found = known[KEYS[name], version]
        assert int(row["answers compared"]) == found.compared
        assert int(row["admin answers"]) == found.compared_here
        assert int(row["bad requests"]) == len(found.bad_requests)
        clients = [client for client in row["clients"].split(", ") if client != "-"]
        tested = [client for client in clients if not client.startswith("(")]
        assert tested == list(found.clients)
        asked_kafka_alone = [client.strip("()") for client in clients[len(tested) :]]
        assert not any(each.startswith(name) for name in asked_kafka_alone for each in tested)
    for part in Evidence._fields:
        assert any(getattr(each, part) for each in known.values()), part


def test_each_version_that_kafka_serves_is_served() -> None:
    """What is advertised and not served, Kafka closed the connection upon."""
    closed = {
        (row["key"], row["version"])
        for row in golden("versions.jsonl")
        if row["outcome"] == "closed"
    }
    for module in APIS:
        api = module.API
        kafkas = range(KAFKAS[api.key]["min"], KAFKAS[api.key]["max"] + 1)
        answered = [version for version in kafkas if (api.key, version) not in closed]
        assert answered == list(range(api.min_version, api.max_version + 1)), api.key.name


@served()
async def test_a_broker_tells_what_the_page_says(running: Running) -> None:
    request = ApiVersionsRequest(client_software_name="page", client_software_version="1")
    answer = await (await running.client()).ask(request, 4, ApiVersionsResponse)
    assert [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys] == [
        (int(row["key"]), *versions(row["advertised"])) for row in table("## Served")
    ]
    features = table("## Features")
    assert [
        (row["feature"].strip("`"), *versions(row["kafkalite supports"]))
        for row in features
        if row["kafkalite supports"] != "later"
    ] == [(each.name, each.min_version, each.max_version) for each in answer.supported_features]
    assert [
        (row["feature"].strip("`"), int(row["finalizes"]))
        for row in features
        if row["finalizes"] != "-"
    ] == [(each.name, each.max_version_level) for each in answer.finalized_features]


def test_no_difference_in_the_code_is_lost() -> None:
    """Each mark gives one entry of the page, and nothing says it in other words."""
    sources = [
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(GENERATED)
    ]
    found = differences()
    assert len(found) == sum(source.count(MARK) for source in sources)
    for difference in found:
        assert difference.text in TEXT
    other_words = re.compile(r"(?i)\bunlike (apache )?kafka\b|\bkafka differs\b(?!:)")
    assert [match.group() for source in sources for match in other_words.finditer(source)] == []


def test_a_difference_ends_with_its_paragraph() -> None:
    text = f"What it does.\n\n    Before. {MARK} it waits\n    longer.\n\n    Source: none.\n"
    assert list(paragraphs(text)) == ["It waits longer."]


def test_differences_are_found_in_docstrings_comments_and_tables() -> None:
    source = "\n".join(
        (
            f'"""A module. {MARK} one."""',
            f'KEY = Key("node.id", INT, "Number. {MARK} two.")',
            f"x = 1  # {MARK} three,",
            "# on two lines.",
            "",
            "# Nothing.",
        )
    )
    assert differences_in(source, "a.py") == [
        Difference("a.py", "", "One."),
        Difference("a.py", "node.id", "Two."),
        Difference("a.py", "", "Three, on two lines."),
    ]


def test_cases_with_an_excuse_were_recorded() -> None:
    recorded = [row["case"] for row in golden("errors.json")]
    for case in cases_that_differ():
        assert case.name in recorded
        assert case.reason


def test_every_bad_request_is_on_the_page_once() -> None:
    """As answered by Kafka, or otherwise, or not put; the last two with a reason."""
    held = _cases_between("bad requests these ", "\nThese ")
    later = _cases_between(" are not put to kafkalite yet:", "\n## ")
    differ = _cases_between("### Recorded requests that are answered otherwise", "\n## ")
    recorded = sorted(row["case"] for row in golden("errors.json"))
    assert len(recorded) == 209
    assert sorted(held + later + differ) == recorded
    assert later == [name for each in bad_requests_for_later() for name in each.cases]
    for each in bad_requests_for_later():
        assert (each.key in {module.API.key for module in APIS}) != ("not served" in each.reason)


def _cases_between(start: str, end: str) -> list[str]:
    _, found, below = TEXT.partition(start)
    assert found
    return re.findall(r"`([a-z0-9-]+)`", below.partition(end)[0])


CUT_OFF = re.compile(
    r"(?i)\d|(of )?(those|these|they|them|such)\b|it (\w+ ){1,2}(them|there|those|such|the one)\b"
    r"|it reads on"
)
"""How a text begins that speaks of something before it, where nothing is."""


def test_a_difference_says_what_it_is_about() -> None:
    """On the page stands what comes after the mark, and nothing of what comes before. The entry of
    a setting has its name in front."""
    for difference in differences():
        assert difference.text.endswith((".", "`")), difference
        assert not CUT_OFF.match(difference.text) or difference.about, difference
        assert _names_of_constants(difference.text) == []


@pytest.mark.parametrize("text", ["3000.", "Of those it knows some.", "It has no such."])
def test_a_text_that_is_cut_off_is_seen(text: str) -> None:
    assert CUT_OFF.match(text)
    assert _names_of_constants("Less than STALL_BYTES, which is no NOT_CONTROLLER") == [
        "STALL_BYTES"
    ]


def _names_of_constants(text: str) -> list[str]:
    """Those that say nothing to readers of the page. Error codes and security protocols do."""
    known = {*ErrorCode.__members__, "SASL_PLAINTEXT", "SASL_SSL"}
    return [name for name in re.findall(r"\b[A-Z]+_[A-Z_]+\b", text) if name not in known]


def test_every_difference_has_an_area() -> None:
    assert "### Elsewhere" not in TEXT
    assert "### Groups" in TEXT


def test_numbers_on_the_page_are_those_of_the_code() -> None:
    """Sentences that tell a constant's value."""
    for text in (
        f"less than {STALL_BYTES >> 10} KiB came from it in {STALL_MS // 1000} s",
        f"at most {LOOKUP_BYTES >> 20} MiB, or {LOOKUP_RECORDS:,} records",
        f"may hold {BATCH_BYTES >> 20} MiB and {BATCH_RECORDS:,} of them",
    ):
        assert text in TEXT


def test_what_an_api_does_and_does_not_is_said() -> None:
    said = {row["API"]: row for row in table("## Served")}
    for name in ("AlterConfigs", "IncrementalAlterConfigs"):  # brokers' settings too.
        assert re.search(r"topics?\b.*\bbrokers?\b", said[name]["what it does"])
    assert said["Fetch"]["missing"] == "nothing"
    assert "both protocols" in said["ConsumerGroupHeartbeat"]["missing"]
    assert "migration" in TEXT.partition("- **ConsumerGroupHeartbeat**: ")[2].partition("\n")[0]


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(targets) >= len(differences())
    assert [target for target in targets if not (PAGE.parent / target).is_file()] == []

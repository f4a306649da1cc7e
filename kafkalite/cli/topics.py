"""`kafkalite topics`: list, describe, create, alter and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.config_changes import change_configs, configs_of
from kafkalite.cli.connection import Connection
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.log_ranges import Topic, find_topics, log_ranges
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.names import TopicName, TopicNames
from kafkalite.cli.output import (
    Column,
    Output,
    Result,
    counted,
    print_heading,
    print_json,
    print_table,
)
from kafkalite.cli.panels import CLUSTER, OPTIONS
from kafkalite.cli.patience import each_when_ready, when_ready
from kafkalite.cli.printable import printable
from kafkalite.cli.refusals import Refusal
from kafkalite.cli.topic_views import TopicDocument, described, listed
from kafkalite.cli.topic_wish import AS_THE_BROKER_SAYS, MOST_PARTITIONS, parse_topics
from kafkalite.errors import ErrorCode

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

topics = App(
    name="topics",
    help="List, describe, create, alter and delete topics.",
    group=CLUSTER,
    group_parameters=OPTIONS,
    sort_key=1,
)

_MOST_REPLICAS = (1 << 15) - 1
"""What the protocol can say."""
_Partitions = Annotated[int, Parameter(validator=from_to(1, MOST_PARTITIONS))]
_LISTED = (
    Column("TOPIC", "topic", style="bold"),
    Column("PARTITIONS", "partitions", is_number=True),
    Column("REPLICAS", "replication_factor", is_number=True),
    Column("RECORDS", "records", is_number=True),
)
_PARTITIONS = (
    Column("PARTITION", "partition", is_number=True),
    Column("LEADER", "leader", is_number=True),
    Column("REPLICAS", "replicas"),
    Column("IN SYNC", "in_sync_replicas"),
    Column("START", "start_offset", is_number=True),
    Column("END", "end_offset", is_number=True),
)


@topics.command(name="list")
def list_topics(
    *, internal: bool = False, connection: Connection = Connection(), output: Output = Output()
) -> None:
    """List topics.

    Args:
        internal: Kafka's own too, such as __consumer_offsets
    """
    with connection.admin() as admin:
        found = [each for each in admin.describe_topics() if internal or not each["is_internal"]]
        ranges = log_ranges(admin, found)
    rows = [listed(topic, ranges) for topic in sorted(found, key=lambda topic: topic["name"])]
    output.rows(
        _LISTED, rows, none="There are no topics; `kafkalite topics create NAME` makes one."
    )


@topics.command
def describe(
    names: TopicNames,
    /,
    *,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Show topics: their partitions, offsets, and the settings that somebody changed.

    Args:
        names: which
    """
    with connection.admin() as admin:
        found = find_topics(admin, names)
        ranges = log_ranges(admin, found)
        changed = configs_of(admin, "topic", [topic["name"] for topic in found], all_of_them=False)
    documents = [
        described(topic, ranges, configs) for topic, configs in zip(found, changed, strict=True)
    ]
    if output.json:
        print_json(documents)
        return
    for number, document in enumerate(documents):
        _print_described(document, is_first=number == 0)


def _print_described(document: TopicDocument, *, is_first: bool) -> None:
    if not is_first:
        print()
    partitions = document["partitions"]
    print_heading(
        document["topic"], f"{counted(len(partitions), 'partition')}, id {document['id']}"
    )
    for key, value in document["configs"].items():
        print(f"  {key}={printable(value)}")
    print()
    print_table(_PARTITIONS, partitions)


@topics.command
def create(
    names: Annotated[list[str], Parameter(metavar="NAME[:PARTITIONS]")],
    /,
    *,
    partitions: _Partitions | None = None,
    replication_factor: Annotated[
        int | None, Parameter(validator=from_to(1, _MOST_REPLICAS))
    ] = None,
    set: tuple[str, ...] = (),
    if_not_exists: bool = False,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Create topics.

    Args:
        names: a name, or with partitions, like orders:3
        partitions: of each topic that names none [default: what the broker says]
        replication_factor: copies of each partition [default: what the broker says]
        set: a topic setting; may be repeated
        if_not_exists: pass over those that are there
    """
    wanted = parse_topics(names, partitions=partitions or AS_THE_BROKER_SAYS)
    configs = parse_assignments(set)
    asked = {
        name: {
            "num_partitions": number,
            "replication_factor": replication_factor or AS_THE_BROKER_SAYS,
            "configs": configs,
        }
        for name, number in wanted.items()
    }
    with connection.admin() as admin:
        found = each_when_ready(admin, wanted, partial(_create, admin, asked), _code)
        results = [_created(topic, if_not_exists=if_not_exists) for topic in found.values()]
        admin.wait_for_topics([each.name for each in results if each.row["created"]])
    output.results(results)


def _create(
    admin: KafkaAdminClient, asked: Mapping[str, object], names: Iterable[str]
) -> dict[str, Topic]:
    answer = admin.create_topics({name: asked[name] for name in names}, raise_errors=False)
    return {topic["name"]: topic for topic in answer["topics"]}


def _delete(admin: KafkaAdminClient, names: Iterable[str]) -> dict[str, Topic]:
    answer = admin.delete_topics(dict.fromkeys(names), raise_errors=False)
    return {topic["name"]: topic for topic in answer["topics"]}


def _code(answer: Topic) -> int:
    return int(answer["error_code"])


def _created(answer: Topic, *, if_not_exists: bool) -> Result:
    name, code = answer["name"], answer["error_code"]
    is_there = if_not_exists and code == ErrorCode.TOPIC_ALREADY_EXISTS
    refusal = Refusal(code, answer["error_message"]) if code and not is_there else None
    number, copies = answer["num_partitions"], answer["replication_factor"]
    row = {
        "topic": name,
        "created": code == 0,
        "partitions": number if code == 0 else None,
        "replication_factor": copies if code == 0 else None,
    }
    size = f"{counted(number, 'partition')}, replication factor {copies}"
    line = f"{name} is there already" if is_there else f"created {name}: {size}"
    return Result(name, row, line, refusal)


@topics.command
def alter(
    name: TopicName,
    /,
    *,
    partitions: _Partitions | None = None,
    set: tuple[str, ...] = (),
    delete: tuple[str, ...] = (),
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Give a topic more partitions, or change its settings.

    Args:
        name: which
        partitions: how many in all; there cannot be fewer than before
        set: a topic setting; may be repeated
        delete: a topic setting that goes back to its default, and is set; may be repeated
    """
    if partitions is None and not set and not delete:
        raise WrongUseError("nothing to alter: use --partitions, --set or --delete")
    to_set = parse_assignments(set)
    both = [key for key in delete if key in to_set]
    if both:
        raise WrongUseError(f"{both[0]} cannot be both set and deleted; say one of them")
    changes = {**to_set, **dict.fromkeys(delete)}
    row = {"topic": name, "altered": True}
    line = f"altered {name}"
    with connection.admin() as admin:
        refusal = None
        if changes:
            (topic,) = admin.describe_topics([name])
            refusal = Refusal(topic["error_code"]) if topic["error_code"] else None
            refusal = refusal or change_configs(admin, "topic", name, changes)
        if partitions is not None and refusal is None:
            answer = when_ready(
                admin,
                lambda: admin.create_partitions({name: partitions}, raise_errors=False).results[0],
                lambda result: result.error_code,
            )
            if answer.error_code:
                refusal = Refusal(answer.error_code, answer.error_message)
    output.results([Result(name, row | {"altered": refusal is None}, line, refusal)])


@topics.command
def delete(
    names: TopicNames,
    /,
    *,
    if_exists: bool = False,
    connection: Connection = Connection(),
    output: Output = Output(),
) -> None:
    """Delete topics with all their records.

    Args:
        names: which
        if_exists: pass over those that are not there
    """
    with connection.admin() as admin:
        found = each_when_ready(admin, names, partial(_delete, admin), _code)
    output.results([_deleted(topic, if_exists=if_exists) for topic in found.values()])


def _deleted(answer: Topic, *, if_exists: bool) -> Result:
    name, code = answer["name"], answer["error_code"]
    is_gone = if_exists and code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refusal = Refusal(code, answer.get("error_message")) if code and not is_gone else None
    line = f"{name} is not there" if is_gone else f"deleted {name}"
    return Result(name, {"topic": name, "deleted": code == 0}, line, refusal)

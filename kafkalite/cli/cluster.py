"""`kafkalite cluster`: several brokers in one process, until Ctrl-C or SIGTERM; and what a running
cluster looks like."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.cluster_status import status
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.logs import LogFormat, start_logging
from kafkalite.cli.mistakes import from_to
from kafkalite.cli.panels import BROKER, OPTIONS
from kafkalite.cli.topic_wish import parse_topics
from kafkalite.ports.process import age_ms, raise_descriptor_limit

if TYPE_CHECKING:
    from kafkalite.testing.cluster import Cluster

_DEFAULT_PORT = 9092
_DEFAULT_DATA = "kafkalite-cluster"
_MAX_PORT = 65535
_MOST_BROKERS = 100
_STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

cluster = App(
    name="cluster",
    help="Run several brokers as one cluster, or look at one.",
    group=BROKER,
    group_parameters=OPTIONS,
    sort_key=3,
)
cluster.command(status)


@cluster.default
def run_cluster(
    *,
    brokers: Annotated[int, Parameter(validator=from_to(1, _MOST_BROKERS))] = 3,
    port: Annotated[int, Parameter(validator=from_to(0, _MAX_PORT))] = _DEFAULT_PORT,
    data: str | None = None,
    ephemeral: bool = False,
    topic: Annotated[tuple[str, ...], Parameter(metavar="NAME[:PARTITIONS]")] = (),
    set: Annotated[tuple[str, ...], Parameter(metavar="KEY=VALUE")] = (),
    json: bool = False,
    log_format: LogFormat = "text",
) -> None:
    """Run several brokers in this process, until Ctrl-C or SIGTERM.

    Topics have three replicas unless they say otherwise, or as many as there are brokers. With the
    same folder a cluster goes on where it stopped.

    Args:
        brokers: how many; their ids are 1, 2, 3...
        port: of the first; the others listen on those that follow; 0 takes free ones
        data: folder of the cluster [default: ./kafkalite-cluster]
        ephemeral: keep all data in memory
        topic: a topic to have; may be repeated
        set: a setting of every broker by Kafka's name; may be repeated
        json: tell the addresses as a line of JSON
        log_format: of the lines on standard error
    """
    if ephemeral and data is not None:
        raise WrongUseError("--ephemeral and --data cannot go together; use one of them")
    if data == "":
        raise WrongUseError("--data: the empty name is no folder")
    if port and port + brokers - 1 > _MAX_PORT:
        raise WrongUseError(f"--port {port}: {brokers} brokers need ports up to {_MAX_PORT}")
    folder = None if ephemeral else os.path.expanduser(data or _DEFAULT_DATA)
    if folder is not None and os.path.exists(os.path.join(folder, "meta.properties")):
        raise CommandError(
            f"{folder} is the log folder of one broker (`kafkalite serve`); "
            "choose another folder with --data"
        )
    settings = {"kafkalite.record.validation": "header", **parse_assignments(set)}
    ports = {id: port + id - 1 if port else 0 for id in range(1, brokers + 1)}
    made = _made(ports, folder, parse_topics(topic), settings)
    start_logging(log_format)
    raise_descriptor_limit()
    _serve(made, folder, as_json=json)


def _made(
    ports: dict[int, int], folder: str | None, topics: dict[str, int], settings: dict[str, str]
) -> Cluster:
    """Not started. `WrongUseError` for settings that no broker takes."""
    from kafkalite.testing.cluster import Cluster

    try:
        return Cluster(len(ports), topics=topics, settings=settings, data=folder, ports=ports)
    except ValueError as error:
        said = str(error).replace("settings: ", "--set: ", 1).replace("use ports=", "use --port")
        raise WrongUseError(said) from error


def _serve(made: Cluster, folder: str | None, *, as_json: bool) -> None:
    from kafkalite.testing.cluster import BrokerError

    stopped = threading.Event()
    for name in _STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: stopped.set())
    try:
        with made:
            addresses = {id: made.address_of(id) for id in made.brokers}
            where = "memory" if folder is None else folder
            print(_as_json(addresses, folder) if as_json else _line(addresses, where), flush=True)
            stopped.wait()
    except BrokerError as error:
        said = str(error).replace("; ports= left out ", "; --port 0 ")
        raise CommandError(said) from error


def _line(addresses: dict[int, str], where: str) -> str:
    """For people."""
    bootstrap = ",".join(addresses.values())
    return (
        f"kafkalite cluster of {len(addresses)} ready on {bootstrap}, data in {where}, "
        f"started in {age_ms()} ms"
    )


def _as_json(addresses: dict[int, str], data: str | None) -> str:
    """For machines: an object, without a newline."""
    import json

    return json.dumps(
        {
            "bootstrap": ",".join(addresses.values()),
            "data": data,
            "started_in_ms": age_ms(),
            "brokers": {str(id): address for id, address in addresses.items()},
        }
    )

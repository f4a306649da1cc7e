"""`kafkalite cluster`: several brokers in one process, or each in its own over a ZooKeeper, until
Ctrl-C or SIGTERM; and what a running cluster looks like."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from kafkalite.cli.assignments import parse_assignments
from kafkalite.cli.cluster_processes import ProcessesPlan, serve_as_processes
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
_MOST_COPIES = 3
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
    processes: bool = False,
    zookeeper: str | None = None,
    topic: tuple[str, ...] = (),
    set: tuple[str, ...] = (),
    json: bool = False,
    log_format: LogFormat = "text",
) -> None:
    """Run several brokers, until Ctrl-C or SIGTERM: in this process, or each in its own.

    Topics have three replicas unless they say otherwise, or as many as there are brokers. With the
    same folder a cluster goes on where it stopped.

    Args:
        brokers: how many; their ids are 1, 2, 3...
        port: of the first; the others listen on those that follow; 0 takes free ones
        data: folder of the cluster [default: ./kafkalite-cluster]
        ephemeral: keep all data in memory
        processes: a process for each broker, so that all cores work; needs --zookeeper
        zookeeper: HOST:PORT,HOST:PORT/CHROOT of the ensemble that such a cluster is kept in
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
        raise WrongUseError(
            f"--port {port}: {_MAX_PORT} is the last, and {brokers} brokers need more"
        )
    if processes != (zookeeper is not None):
        raise WrongUseError("--processes and --zookeeper HOST:PORT/CHROOT go together; use both")
    folder = None if ephemeral else os.path.expanduser(data or _DEFAULT_DATA)
    if folder is not None and os.path.exists(os.path.join(folder, "meta.properties")):
        raise CommandError(
            f"{folder} is the log folder of one broker (`kafkalite serve`); "
            "choose another folder with --data"
        )
    settings = {"kafkalite.record.validation": "header", **parse_assignments(set)}
    ports = {id: port + id - 1 if port else 0 for id in range(1, brokers + 1)}
    topics = parse_topics(topic)
    made = _made(ports, folder, topics, settings)
    start_logging(log_format)
    raise_descriptor_limit()
    if zookeeper is not None:
        copies = {"default.replication.factor": str(min(_MOST_COPIES, brokers))}
        plan = ProcessesPlan(ports, folder, zookeeper, copies | settings, topics, log_format)
        serve_as_processes(plan, lambda addresses, ids: _tell(addresses, folder, json, ids))
        return
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
            _tell({id: made.address_of(id) for id in made.brokers}, folder, as_json)
            stopped.wait()
    except BrokerError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.filename is not None:
            raise CommandError(
                f"cannot use {folder} ({cause.strerror}); choose another folder with --data"
            ) from error
        said = str(error).replace("; ports= left out ", "; --port 0 ")
        raise CommandError(said) from error


def _tell(
    addresses: dict[int, str],
    folder: str | None,
    as_json: bool,
    process_ids: dict[int, int] | None = None,
) -> None:
    """That all serve."""
    where = "memory" if folder is None else folder
    line = _as_json(addresses, folder, process_ids) if as_json else _line(addresses, where)
    print(line, flush=True)


def _line(addresses: dict[int, str], where: str) -> str:
    """For people."""
    bootstrap = ",".join(addresses.values())
    return (
        f"kafkalite cluster of {len(addresses)} ready on {bootstrap}, data in {where}, "
        f"started in {age_ms()} ms"
    )


def _as_json(
    addresses: dict[int, str], data: str | None, process_ids: dict[int, int] | None
) -> str:
    """For machines: an object, without a newline."""
    import json

    told: dict[str, object] = {
        "bootstrap": ",".join(addresses.values()),
        "data": data,
        "started_in_ms": age_ms(),
        "brokers": {str(id): address for id, address in addresses.items()},
    }
    if process_ids is not None:
        told["processes"] = {str(id): number for id, number in process_ids.items()}
    return json.dumps(told)

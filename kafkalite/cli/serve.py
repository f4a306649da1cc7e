"""`kafkalite serve`: one broker, until Ctrl-C or SIGTERM.

Kafka differs: it listens on all addresses of the machine unless told otherwise. Here it is the
machine's own two, 127.0.0.1 and ::1, as long as nobody can be asked who they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkalite.cli.early_interrupts import end_at_once_upon_interrupts, raise_upon_interrupts
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.logs import LogFormat, log_note, start_logging
from kafkalite.cli.settings import gather
from kafkalite.cli.topic_wish import MOST_PARTITIONS, first_topics
from kafkalite.ports.process import raise_descriptor_limit

if TYPE_CHECKING:
    from kafkalite.cli.first_users import FirstUser
    from kafkalite.config.views import BrokerConfig

_DEFAULT_PORT = 9092
_DEFAULT_DATA = "kafkalite-data"
_MAX_PORT = 65535


def serve(
    *,
    port: int | None = None,
    data: str | None = None,
    ephemeral: bool = False,
    fsync: bool = False,
    topic: tuple[str, ...] = (),
    partitions: int | None = None,
    node_id: int | None = None,
    zookeeper: str | None = None,
    config: tuple[str, ...] = (),
    set: tuple[str, ...] = (),
    add_scram: tuple[str, ...] = (),
    ready_file: str | None = None,
    json: bool = False,
    log_format: LogFormat = "text",
) -> None:
    """Run one broker, until Ctrl-C or SIGTERM.

    Args:
        port: on this machine's own addresses; 0 takes a free one [default: 9092]
        data: folder of the logs [default: ./kafkalite-data]
        ephemeral: keep all data in memory
        fsync: answer acks=all only once the data is on the disk
        topic: a topic to have; may be repeated
        partitions: of each topic for which nobody says it [default: 1]
        node_id: number of the broker, another one for each of a cluster [default: 1]
        zookeeper: HOST:PORT,HOST:PORT/CHROOT of the ensemble that its cluster is kept in
        config: file of broker settings, like Kafka's server.properties; may be repeated
        set: a broker setting by Kafka's name; may be repeated
        add_scram: a user to have, as SCRAM-SHA-256=[name=NAME,password=PASSWORD]; may be repeated
        ready_file: file that has the address in it while the broker serves
        json: tell the address as a line of JSON
        log_format: of the lines on standard error
    """
    from kafkalite.cli.serving import Plan, serve_until_stopped

    start_logging(log_format)
    raise_descriptor_limit()
    _check_numbers(port, partitions)
    topics, topic_notes = first_topics(topic, os.environ)
    settings = gather(files=config, assignments=set, environment=os.environ, port=port)
    wishes = {"--partitions": partitions, "--data": data, "--ephemeral": ephemeral or None}
    _refuse_both({**wishes, "--node-id": node_id}, settings.origins)
    for note in (*settings.notes, *topic_notes):
        if zookeeper is None or not _is_of_no_zookeeper(note):
            log_note(note)
    values = {"listeners": f"PLAINTEXT://localhost:{_DEFAULT_PORT}", **settings.values}
    _set_by_options(values, partitions, node_id, fsync=fsync)
    folders = _folders(values, data, ephemeral=ephemeral)
    of_brokers = {"--topic": topic, "--zookeeper": zookeeper, "--add-scram": add_scram}
    _check_role(values, settings.origins, of_brokers)
    checked = _checked(values, settings.origins, has_others=zookeeper is not None)
    users = (*_parse_users(add_scram), *settings.users)
    serve_until_stopped(Plan(checked, folders, topics, users, json, ready_file, zookeeper))


def _check_numbers(port: int | None, partitions: int | None) -> None:
    if port is not None and not 0 <= port <= _MAX_PORT:
        raise WrongUseError(f"--port: {port} is not from 0 to {_MAX_PORT}")
    if partitions is not None and not 1 <= partitions <= MOST_PARTITIONS:
        raise WrongUseError(f"--partitions: {partitions} is not from 1 to {MOST_PARTITIONS}")


def _set_by_options(
    values: dict[str, str], partitions: int | None, node_id: int | None, *, fsync: bool
) -> None:
    if partitions is not None:
        values["num.partitions"] = str(partitions)
    if node_id is not None:
        values["node.id"] = str(node_id)
        values.pop("broker.id", None)
    if fsync:
        values["kafkalite.fsync"] = "true"


def _check_role(
    values: Mapping[str, str], origins: Mapping[str, str], of_brokers: Mapping[str, object]
) -> None:
    """What only a broker can do is not asked of a controller alone; `of_brokers` are options."""
    from kafkalite.config.listeners import ROLES, is_controller_alone

    if is_controller_alone(values):
        for option, wish in of_brokers.items():
            if wish:
                raise WrongUseError(
                    f"{option} is for a broker, and {ROLES}=controller ({origins[ROLES]}) makes "
                    "none; use one of them"
                )


def _is_of_no_zookeeper(note: str) -> bool:
    from kafkalite.config.review import NO_ZOOKEEPER

    return note.startswith(NO_ZOOKEEPER)


def _refuse_both(wishes: Mapping[str, object], origins: Mapping[str, str]) -> None:
    """One of two would be passed over; which, nobody should have to know. `wishes`: by option."""
    for option, keys in _KEYS_OF_OPTIONS.items():
        for key in keys if wishes[option] is not None else ():
            if origins.get(key) == "--set":
                raise WrongUseError(
                    f"{option} and --set {key}=... cannot go together; use one of them"
                )


_KEYS_OF_OPTIONS = {
    "--partitions": ("num.partitions",),
    "--data": ("log.dirs", "log.dir"),
    "--ephemeral": ("log.dirs", "log.dir"),
    "--node-id": ("node.id", "broker.id"),
}


def _parse_users(texts: tuple[str, ...]) -> tuple[FirstUser, ...]:
    if not texts:
        return ()
    from kafkalite.cli.first_users import parse_first_users

    return parse_first_users(texts)


def _folders(values: dict[str, str], data: str | None, *, ephemeral: bool) -> tuple[str, ...]:
    """Where the logs are, which `values` then tell too, that of the metadata first; none: in
    memory."""
    if ephemeral and data is not None:
        raise WrongUseError("--ephemeral and --data cannot go together; use one of them")
    if ephemeral and values.get("kafkalite.fsync") == "true":
        raise WrongUseError("--ephemeral has no disk that --fsync could wait for; use one of them")
    if data == "":
        raise WrongUseError("--data: the empty name is no folder")
    if ephemeral:
        values["log.dirs"] = "in memory"
        return ()
    folders = [data] if data else values.get("log.dirs", _DEFAULT_DATA).split(",")
    expanded = tuple(map(os.path.expanduser, folders))
    values["log.dirs"] = ",".join(expanded)
    of_metadata = values.get("metadata.log.dir")
    if of_metadata is None:
        return expanded
    first = os.path.expanduser(of_metadata.strip())
    if first not in expanded:
        raise WrongUseError(f"metadata.log.dir={of_metadata} must be among the log.dirs")
    return (first, *(folder for folder in expanded if folder != first))


def _checked(values: dict[str, str], origins: dict[str, str], *, has_others: bool) -> BrokerConfig:
    """`WrongUseError` for what no broker can have; `origins` as in `Settings`."""
    from kafkalite.config.listeners import ListenersError, is_controller_alone, parse_ip_limits
    from kafkalite.config.views import BrokerConfig
    from kafkalite.errors import KafkaError

    try:
        config = BrokerConfig.of(values)
        _check_security(config, has_others=has_others)
        parse_ip_limits(config)
    except ListenersError as error:
        set_at = {key: origins[key] for key in error.keys if key in origins}
        places = " and ".join(f"{key} ({origin})" for key, origin in set_at.items())
        parts = [error.message.removesuffix("."), error.remedy, f"see {places}" if places else ""]
        if set_at and "--set" not in set_at.values() and not is_controller_alone(values):
            parts.append("--port 9092 starts without them")
        raise WrongUseError("; ".join(filter(None, parts))) from error
    except KafkaError as error:
        raise WrongUseError(error.message) from error
    return config


def _check_security(config: BrokerConfig, *, has_others: bool) -> None:
    from kafkalite.server.secured import check_security

    ends_at_once = raise_upon_interrupts()  # A key is in a file meanwhile, which has to go.
    try:
        check_security(config, has_others=has_others)
    finally:
        if ends_at_once:
            end_at_once_upon_interrupts()

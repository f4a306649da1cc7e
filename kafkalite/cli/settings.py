"""Where the settings of `serve` come from, put together: files, the environment, the command line.

What is named later is stronger: Kafka's defaults, `--config` files in their order, the environment,
`--set` and `--port`. That is the order of the images whose environment this takes: there too a
variable is stronger than a mounted file.

A listener's host may be a name that exists in a container only (`kafka`, `broker`). Where it does
not resolve, the broker listens on this machine's own addresses at that port, with a warning: what
was written for a container then starts on a laptop, and is reached from nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafkalite.config.environment import Given, read_environment

_LISTENERS = "listeners"
_ABOUT_LISTENERS = (
    _LISTENERS,
    "advertised.listeners",
    "controller.listener.names",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
)
_NAMED_HOST = re.compile(r"\s*(?P<name>.+)://(?P<host>[0-9A-Za-z._-]+):(?P<port>[0-9]+)\s*")


class WrongUseError(Exception):
    """One line for a person: which setting is wrong, and what is allowed. The exit code is 2."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was set, and what there is to say about it."""

    values: dict[str, str]
    """By Kafka's key, as text that its key takes. `log.dirs` is in it only if somebody set it (or
    `log.dir`); `listeners` likewise."""
    notes: tuple[str, ...]
    """Lines for stderr, each beginning with `info: ` or `warning: `."""


def host_resolves(host: str) -> bool:
    """Whether this machine knows an address of `host`. It may have to ask the network."""
    import socket

    try:
        return bool(socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return False


def gather(
    *,
    files: Sequence[str],
    assignments: Sequence[str],
    environment: Mapping[str, str],
    port: int | None = None,
    resolves: Callable[[str], bool] = host_resolves,
) -> Settings:
    """All sources together.

    `files` are paths of `--config`, `assignments` texts of `--set` (`KEY=VALUE`). With a `port`
    the broker listens there on this machine's own addresses, whatever files and environment say of
    listeners. `WrongUseError` for a file that cannot be read, and for a value that its key does
    not take.
    """
    given: dict[str, Given] = {}
    for path in files:
        given.update(_read_file(path))
    _add_environment(given, environment)
    notes = []
    if port is not None:
        notes = _set_port(given, port)
    for text in assignments:
        name, value = _assigned(text)
        if name == _LISTENERS and port is not None:
            raise WrongUseError(f"--port and --set {text} say the same thing; use one of them")
        given[name] = Given(value, "--set")
    if given:
        notes += _reviewed(given)
    values = {name: each.value for name, each in given.items()}
    _set_data_folder(given, values)
    notes += _listen_here(values, resolves)
    return Settings(values, tuple(notes))


def _read_file(path: str) -> dict[str, Given]:
    from kafkalite.config.properties import PropertiesError, parse_properties

    try:
        with open(path, "rb") as file:
            properties = parse_properties(file.read())
    except OSError as error:
        raise WrongUseError(f"--config {path}: {error.strerror or error}") from error
    except PropertiesError as error:
        raise WrongUseError(f"--config {path}: {error}") from error
    return {name: Given(value, path) for name, value in properties.items()}


def _add_environment(given: dict[str, Given], environment: Mapping[str, str]) -> None:
    settings, listeners, cluster_id = read_environment(environment)
    given.update(settings)
    if listeners is not None:
        given.setdefault(_LISTENERS, listeners)
    if cluster_id is not None and given:
        given["kafkalite.cluster.id"] = cluster_id


def _set_port(given: dict[str, Given], port: int) -> list[str]:
    """Nothing that is in `given` so far says where to listen, and what to tell of it."""
    left_out = [name for name in _ABOUT_LISTENERS if name in given]
    origins = dict.fromkeys(given.pop(name).origin for name in left_out)
    given[_LISTENERS] = Given(f"PLAINTEXT://localhost:{port}", "--port")
    if not left_out:
        return []
    return [f"info: --port {port} is stronger than {', '.join(origins)}"]


def _assigned(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise WrongUseError(f"--set {text}: expected KEY=VALUE, such as num.partitions=3")
    return name, value


def _reviewed(given: Mapping[str, Given]) -> list[str]:
    from kafkalite.config.review import review
    from kafkalite.errors import KafkaError

    try:
        return review(given)
    except KafkaError as error:
        raise WrongUseError(error.message) from error


def _set_data_folder(given: Mapping[str, Given], values: dict[str, str]) -> None:
    """`log.dirs`, from whichever name says it."""
    for name in ("log.dirs", "log.dir"):
        if name in given:
            folders = list(dict.fromkeys(part.strip() for part in given[name].value.split(",")))
            if len(folders) > 1:
                raise WrongUseError(
                    f"{name}={given[name].value.strip()} ({given[name].origin}): allowed is one "
                    "folder; data over several cannot be read yet"
                )
            values["log.dirs"] = folders[0]
            return


def _listen_here(values: dict[str, str], resolves: Callable[[str], bool]) -> list[str]:
    """Have listeners on this machine's own addresses instead of on hosts that it does not know."""
    controllers = values.get("controller.listener.names", "").upper().split(",")
    notes, entries = [], []
    for entry in values.get(_LISTENERS, "").split(","):
        match = _NAMED_HOST.fullmatch(entry)
        if match is None or match["name"].upper() in controllers or resolves(match["host"]):
            entries.append(entry)
            continue
        entries.append(f"{match['name']}://localhost:{match['port']}")
        notes.append(
            f"warning: this machine knows no host {match['host']}: {entry.strip()} listens on "
            f"localhost:{match['port']} instead"
        )
    if notes:
        values[_LISTENERS] = ",".join(entries)
    return notes

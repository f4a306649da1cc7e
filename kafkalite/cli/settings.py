"""Where the settings of `serve` come from, put together: files, the environment, the command line.

What is named later is stronger: Kafka's defaults, `--config` files in their order, the environment,
`--set` and `--port`. That is the order of the images whose environment this takes: there too a
variable is stronger than a mounted file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.cli.errors import WrongUseError

if TYPE_CHECKING:
    from kafkalite.cli.first_users import FirstUser
    from kafkalite.config.environment import Given

_LISTENERS = "listeners"
_VARIABLES_BEGIN = ("KAFKA_", "ALLOW_PLAINTEXT_LISTENER", "CLUSTER_ID")
"""Without one of these the environment sets nothing."""
_KEY_STORES_BEGIN = ("KAFKA_SSL_", "KAFKA_TLS_", "KAFKA_CERTIFICATE_")
"""Without one of these it says nothing of key stores."""
_LOGINS = re.compile("java.security.auth.login.config|SASL")
"""Without this in a value it says nothing of logins."""


class Settings(NamedTuple):
    """What was set, and what there is to say about it."""

    values: dict[str, str]
    """By Kafka's key, as text that its key takes. `log.dirs` is in it only if somebody set it (or
    `log.dir`); `listeners` likewise."""
    notes: tuple[str, ...]
    """Lines for stderr, each beginning with `info: ` or `warning: `."""
    origins: dict[str, str]
    """By key, where it was set: a variable, a file and its line, `--set`, `--port`."""
    users: tuple[FirstUser, ...] = ()
    """Of SCRAM, that the environment wants to be there."""


def gather(
    *,
    files: Sequence[str],
    assignments: Sequence[str],
    environment: Mapping[str, str],
    port: int | None = None,
    resolves: Callable[[str], bool] | None = None,
) -> Settings:
    """All sources together.

    `files` are paths of `--config`, `assignments` texts of `--set` (`KEY=VALUE`). With a `port`
    the broker listens there on this machine's own addresses, whatever files and environment say of
    listeners. CLUSTER_ID counts beside a variable that is a broker's beyond doubt, and alone when
    it is such an id as Kafka makes. `WrongUseError` for a file that cannot be read, and for a value
    that its key does not take. `resolves` tells whether this machine knows a host; None: ask it.
    """
    given: dict[str, Given] = {}
    for path in files:
        given.update(_read_file(path))
    notes = []
    users: list[FirstUser] = []
    if any(name.startswith(_VARIABLES_BEGIN) for name in environment):
        notes += _add_environment(given, environment, users)
    if port is not None:
        notes += _set_port(given, port)
    for text in assignments:
        _assign(given, text, port=port)
    if "config.providers" in given:
        from kafkalite.cli.indirect_values import resolve_references

        notes += resolve_references(given, environment)
    if given:
        notes += _reviewed(given)
    values = {name: each.value for name, each in given.items()}
    _set_data_folder(given, values)
    if _LISTENERS in values and port is None:
        from kafkalite.cli.listening import adapt_listeners, host_resolves

        notes += adapt_listeners(values, resolves or host_resolves)
    origins = {name: each.origin for name, each in given.items()}
    return Settings(values, tuple(notes), origins, tuple(users))


def _read_file(path: str) -> dict[str, Given]:
    from kafkalite.cli.properties_files import read_properties_file
    from kafkalite.config.environment import Given

    properties = read_properties_file(path, "--config")
    return {name: Given(each.value, f"{path}:{each.line}") for name, each in properties.items()}


def _add_environment(
    given: dict[str, Given], environment: Mapping[str, str], users: list[FirstUser]
) -> list[str]:
    """What there is to tell of it."""
    from kafkalite.config.environment import Given, is_uuid, read_environment
    from kafkalite.config.review import is_of_a_broker, without_those_of_clients

    files: Mapping[str, str] = {}
    if any(name.endswith("_FILE") for name in environment):
        from kafkalite.cli.indirect_values import with_files_read

        environment, files = with_files_read(environment)
    if any(name.startswith(_KEY_STORES_BEGIN) for name in environment):
        from kafkalite.cli.image_stores import with_key_stores

        environment, variables = with_key_stores(environment)
        files = {**files, **variables}
    if any(_LOGINS.search(value) for value in environment.values()):
        from kafkalite.cli.image_logins import with_logins

        environment, variables, wanted = with_logins(environment)
        files = {**files, **variables}
        users += wanted
    found, listeners, cluster_id = read_environment(environment)
    for name, (value, origin) in found.items():
        found[name] = Given(value, files.get(origin, origin))
    settings, notes = without_those_of_clients(found)
    given.update(settings)
    if listeners is not None:
        given.setdefault(_LISTENERS, listeners)
    if cluster_id is not None and (
        is_uuid(cluster_id.value) or listeners is not None or is_of_a_broker(settings)
    ):
        given["kafkalite.cluster.id"] = cluster_id
    return notes


def _set_port(given: dict[str, Given], port: int) -> list[str]:
    """Have nothing that was given so far say where to listen; what there is to tell of it."""
    from kafkalite.cli.listening import ABOUT_LISTENERS
    from kafkalite.config.environment import Given

    left_out = [name for name in ABOUT_LISTENERS if name in given]
    origins = dict.fromkeys(given.pop(name).origin for name in left_out)
    given[_LISTENERS] = Given(f"PLAINTEXT://localhost:{port}", "--port")
    if not left_out:
        return []
    return [f"info: --port {port} is stronger than {', '.join(origins)}"]


def _assign(given: dict[str, Given], text: str, *, port: int | None) -> None:
    from kafkalite.config.environment import Given

    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise WrongUseError(f"--set {text}: expected KEY=VALUE, such as num.partitions=3")
    if name == _LISTENERS and port is not None:
        raise WrongUseError(f"--port and --set {text} say the same thing; use one of them")
    given[name] = Given(value, "--set")


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
            values["log.dirs"] = ",".join(folders)
            return

"""Looks over what somebody has set, from wherever: which names are good, which values, and what a
person should know about the rest before the broker starts.

Kafka differs: it starts with names that it does not know, and says so in a log of hundreds of
lines. Here each is a warning, which names the setting that was probably meant if any is like it.

Kafka differs: `process.roles=controller` is a node of the quorum. Here each broker is its own
controller, so such a process has nothing to do: it says so, and stands where a compose file wants
it (`server.lone_controller`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import NoReturn

from kafkalite.config.environment import BITNAMI_PREFIX, Given
from kafkalite.config.keys import ConfigKey
from kafkalite.config.known import (
    Kind,
    in_lower_case,
    is_of_clients_too,
    key_of,
    kind_of,
    meant_by,
    of_all_listeners,
)
from kafkalite.config.listeners import CONTROLLERS, ROLES, is_controller_alone
from kafkalite.config.relations import check_relations, names_with_relations
from kafkalite.errors import ErrorCode, KafkaError

_LONGEST_SHOWN = 80
_OWN_PREFIX = "kafkalite."
_CLUSTER_ID = "kafkalite.cluster.id"
NO_ZOOKEEPER = "info: no ZooKeeper is joined"
"""How that line begins, for those who join one by other means than settings."""
_VOTERS = "controller.quorum.voters"
_BOOTSTRAP = "controller.quorum.bootstrap.servers"
_QUORUM = (ROLES, CONTROLLERS, _VOTERS, _BOOTSTRAP)
_AUTHORIZER = "authorizer.class.name"
_MECHANISMS, _KERBEROS = "sasl.enabled.mechanisms", "GSSAPI"


def review(given: Mapping[str, Given]) -> list[str]:
    """What there is to say, in lines that begin with `info: ` or `warning: `.

    `KafkaError(INVALID_CONFIG)`, in one line, for a value that its key does not take, for two that
    contradict each other, and for what this broker cannot be. Whether listeners are well written,
    `config.listeners` looks.
    """
    kinds = {name: kind_of(name) for name in given}
    for name, kind in kinds.items():
        if kind is Kind.UNKNOWN and name.startswith(_OWN_PREFIX):
            _refuse(_unknown(name, given[name], given))
        key = key_of(name) if kind in (Kind.ACTS, Kind.WITHOUT_EFFECT) else None
        if key is not None:
            _check(key, given[name])
    settings = {name: value for name, (value, _) in given.items()}
    if not names_with_relations().isdisjoint(given):
        _check_relations(given)
    if is_controller_alone(settings):
        return [*_of_unknown_names(given, kinds), _of_a_lone_controller(given[ROLES])]
    return [
        *_of_unknown_names(given, kinds),
        *_warnings(given),
        *_of_the_quorum(settings, given.get(_CLUSTER_ID)),
        *_of_zookeeper(settings, kinds),
        *_without_effect(kinds),
    ]


def without_those_of_clients(
    environment: Mapping[str, Given],
) -> tuple[dict[str, Given], list[str]]:
    """What a broker takes of `environment`, and a warning for each variable that is left out: its
    name is a setting of clients too, and a broker does not take its value. So the shell of
    somebody who works on a client starts a broker. Under a `KAFKA_CFG_` name nothing is left out:
    that is a broker's alone.
    """
    taken = dict(environment)
    warnings = []
    for name, given in environment.items():
        if not is_of_clients_too(name) or given.origin.startswith(BITNAMI_PREFIX):
            continue
        key = key_of(name)
        try:
            if key is not None:
                _check(key, given)
        except KafkaError as error:
            del taken[name]
            warnings.append(
                f"warning: {given.origin} is taken for a client's and left out; "
                f"as a broker's setting, {error.message}"
            )
    return taken, warnings


def is_of_a_broker(environment: Mapping[str, Given]) -> bool:
    """Whether one of them is a broker's setting, and not a client's too."""
    return any(
        kind_of(name) is not Kind.UNKNOWN and not is_of_clients_too(name) for name in environment
    )


def _check(key: ConfigKey, given: Given) -> None:
    try:
        key.parse(given.value)
    except KafkaError as error:
        from kafkalite.config.allowed import allowed

        value = given.value.strip()
        message = f"{key.name}={value} ({given.origin}): allowed is {allowed(key)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, message) from error


def _check_relations(given: Mapping[str, Given]) -> None:
    try:
        check_relations({name: value for name, (value, _) in given.items()})
    except KafkaError as error:
        places = [
            f"{name} ({each.origin})"
            for name, each in given.items()
            if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", error.message)
        ]
        raise KafkaError(error.code, f"{error.message}; see {' and '.join(places)}") from error


def _unknown(name: str, given: Given, all_given: Container[str]) -> str:
    if not name:  # Of `=x` in a file, which Kafka passes over without a word.
        return f"a value without a name ({given.origin}) sets nothing; expected NAME=VALUE"
    meant: str | None = in_lower_case(name)
    if meant == name or meant in all_given:
        meant = meant_by(name, all_given)
    shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."
    hint = "" if meant is None else f"; the nearest is {meant}"
    return f"{shown} ({given.origin}) is no setting of a broker{hint}"


def _of_unknown_names(given: Mapping[str, Given], kinds: Mapping[str, Kind]) -> Iterable[str]:
    for name, kind in kinds.items():
        if kind is Kind.UNKNOWN:
            yield f"warning: {_unknown(name, given[name], given)}"


def _of_a_lone_controller(roles: Given) -> str:
    return (
        f"info: {ROLES}=controller ({roles.origin}): each broker brings its own controller here, "
        "so this process does nothing and serves no clients; it can be left out"
    )


def _warnings(given: Mapping[str, Given]) -> Iterable[str]:
    authorizer = given.get(_AUTHORIZER)
    if authorizer is not None and authorizer.value.strip():
        yield (
            f"warning: {_AUTHORIZER} ({authorizer.origin}) has no effect: everybody whom a "
            "listener lets in may do everything"
        )
    yield from _of_kerberos(given)
    yield from _of_other_nodes(given)


def _of_kerberos(given: Mapping[str, Given]) -> Iterable[str]:
    """Where it is not all that is spoken: else its listener is left out, or refused."""
    for name, (value, origin) in given.items():
        mechanisms = [each.strip() for each in value.split(",")]
        if of_all_listeners(name) == _MECHANISMS and _KERBEROS in mechanisms and mechanisms[1:]:
            yield (
                f"warning: {name} ({origin}): {_KERBEROS} is left out, since Kerberos is not spoken"
                " here"
            )


def _of_other_nodes(given: Mapping[str, Given]) -> Iterable[str]:
    """Of a quorum that this broker is not all of, so that there may be other brokers."""
    roles = given.get(ROLES)
    is_no_controller = roles is not None and "controller" not in roles.value
    for name in (_VOTERS, _BOOTSTRAP):
        quorum = given.get(name)
        if quorum is not None and ("," in quorum.value or is_no_controller):
            yield (
                f"warning: {name} ({quorum.origin}) names other nodes; here each broker is a "
                "cluster of its own, and knows nothing of others: `kafkalite cluster` runs several "
                "that are one"
            )
            return


def _of_the_quorum(settings: Mapping[str, str], cluster_id: Given | None) -> Iterable[str]:
    parts = []
    quorum = [f"{name}={settings[name].strip()}" for name in _QUORUM if name in settings]
    if quorum:
        parts.append(f"the broker is its own controller (no effect: {' '.join(quorum)})")
    if cluster_id is not None:
        parts.append(
            f"a new data folder gets the cluster id {cluster_id.value} ({cluster_id.origin})"
        )
    if parts:
        yield f"info: {'; '.join(parts)}"


def _of_zookeeper(settings: Mapping[str, str], kinds: Mapping[str, Kind]) -> Iterable[str]:
    names = [name for name, kind in kinds.items() if kind is Kind.ZOOKEEPER]
    if names:
        shown = [
            f"{name}={settings[name].strip()}" if name == "zookeeper.connect" else name
            for name in names
        ]
        yield f"{NO_ZOOKEEPER} (no effect: {' '.join(shown)})"


def _without_effect(kinds: Mapping[str, Kind]) -> Iterable[str]:
    quiet = (Kind.WITHOUT_EFFECT, Kind.OLDER, Kind.OF_A_PART)
    told = {*_QUORUM, _AUTHORIZER}
    names = [name for name, kind in kinds.items() if kind in quiet and name not in told]
    if names:
        yield f"info: no effect here: {' '.join(dict.fromkeys(map(_family, names)))}"


def _family(name: str) -> str:
    """The many settings of a vendor's parts are told as one."""
    return "confluent.*" if name.startswith("confluent.") else name


def _refuse(message: str) -> NoReturn:
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)

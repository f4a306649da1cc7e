"""Logins of SASL as the images of Kafka take them: by variables of their own. They become the
variables of settings.

| image | variables |
| --- | --- |
| apache/kafka, confluentinc/cp-kafka | KAFKA_OPTS and others of Java, with -Djava.security.auth.login.config=FILE |
| bitnami/kafka | KAFKA_CLIENT_USERS, KAFKA_CLIENT_PASSWORDS, KAFKA_INTER_BROKER_USER, KAFKA_INTER_BROKER_PASSWORD |

The third makes a login for each listener of its map of protocols that speaks SASL, and each
mechanism: all clients for PLAIN, and on the brokers' own listener the brokers' user besides, as
whom they log in. What a setting says itself is stronger. The controllers' user and password are for a
listener that nobody needs here.

It also makes the clients, and the brokers' user, users of the mechanisms of SCRAM when it makes a
cluster; see `first_users`.

Source: what the images' scripts do, not their text.
"""  # noqa: E501  # tables.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.first_users import FirstUser
from kafkalite.config.jaas import quoted
from kafkalite.config.listeners import parse_protocols
from kafkalite.config.sasl import FILE, PLAIN, PLAIN_MODULE, SCRAM, SCRAM_MODULE
from kafkalite.errors import KafkaError

OPTIONS: Final = (
    "JAVA_TOOL_OPTIONS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
)
"""Of Java, as they stand in its command; the last one is the strongest."""
_FILE_VARIABLE: Final = "KAFKA_" + FILE.upper().replace(".", "_")
_NAMES_FILE: Final = re.compile(r"""(?<!\S)["']?-Djava\.security\.auth\.login\.config=(\S+)""")
_CLIENTS: Final = "KAFKA_CLIENT_USERS"
_PASSWORDS: Final = "KAFKA_CLIENT_PASSWORDS"
_DEFAULTS: Final = {
    _CLIENTS: "user",
    _PASSWORDS: "bitnami",
    "KAFKA_INTER_BROKER_USER": "user",
    "KAFKA_INTER_BROKER_PASSWORD": "bitnami",
    "KAFKA_CFG_SASL_ENABLED_MECHANISMS": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "INTERNAL",
    "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
}


class WithLogins(NamedTuple):
    """What such variables mean."""

    environment: dict[str, str]
    """With them as variables of settings."""
    origins: dict[str, str]
    """The variables that somebody set, by those."""
    users: tuple[FirstUser, ...]
    """Of SCRAM, that there are to be."""


def with_logins(environment: Mapping[str, str]) -> WithLogins:
    """`WrongUseError` for users without passwords."""
    found = dict(environment)
    origins = {}
    for variable in OPTIONS:
        for path in _NAMES_FILE.findall(environment.get(variable, "")):
            found[_FILE_VARIABLE] = path.rstrip("\"'")
            origins[_FILE_VARIABLE] = variable
    made = list(_of_bitnami(environment))
    for name, value in made:
        if name not in environment:
            found[name] = value
            origins[name] = _CLIENTS
    has_scram = any(SCRAM_MODULE in value for _, value in made)
    return WithLogins(found, origins, tuple(_first_users(environment)) if has_scram else ())


def _first_users(environment: Mapping[str, str]) -> Iterator[FirstUser]:
    mechanisms = _said(environment, "KAFKA_CFG_SASL_ENABLED_MECHANISMS").split(",")
    for mechanism in (each.strip() for each in mechanisms):
        if mechanism in SCRAM:
            for name, password in _clients(environment).items():
                yield FirstUser(mechanism, name, password)
    mechanism = environment.get("KAFKA_CFG_SASL_MECHANISM_INTER_BROKER_PROTOCOL", "")
    if mechanism in SCRAM:
        yield FirstUser(mechanism, *_brokers(environment))


def _said(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or _DEFAULTS[name]


def _clients(environment: Mapping[str, str]) -> dict[str, str]:
    users = re.split("[,;]", _said(environment, _CLIENTS))
    passwords = re.split("[,;]", _said(environment, _PASSWORDS))
    if len(users) != len(passwords):
        raise WrongUseError(
            f"{_CLIENTS} names {len(users)} users, and {_PASSWORDS} {len(passwords)} passwords"
        )
    return dict(zip(users, passwords, strict=True))


def _brokers(environment: Mapping[str, str]) -> tuple[str, str]:
    user = _said(environment, "KAFKA_INTER_BROKER_USER")
    return user, _said(environment, "KAFKA_INTER_BROKER_PASSWORD")


def _of_bitnami(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    listeners = _listeners(environment)
    if not listeners:
        return
    enabled = _said(environment, "KAFKA_CFG_SASL_ENABLED_MECHANISMS")
    yield "KAFKA_CFG_SASL_ENABLED_MECHANISMS", enabled
    clients, brokers = _clients(environment), _brokers(environment)
    controllers = _said(environment, "KAFKA_CFG_CONTROLLER_LISTENER_NAMES").upper().split(",")
    of_brokers = _said(environment, "KAFKA_CFG_INTER_BROKER_LISTENER_NAME").upper()
    for listener in listeners:
        if listener in controllers:
            continue  # Nobody listens there.
        for mechanism in (each.strip() for each in enabled.split(",")):
            login = _login(mechanism, clients, brokers if listener == of_brokers else None)
            if login:
                where = f"{listener.replace('_', '__')}_{mechanism}".replace("-", "___")
                yield f"KAFKA_CFG_LISTENER_NAME_{where}_SASL_JAAS_CONFIG", login


def _login(mechanism: str, clients: Mapping[str, str], brokers: tuple[str, str] | None) -> str:
    """For a `sasl.jaas.config`; nothing for a mechanism that the image does not know."""
    words = []
    if brokers is not None:
        words += [f"username={quoted(brokers[0])}", f"password={quoted(brokers[1])}"]
    if mechanism == PLAIN:
        users = {**clients, **({} if brokers is None else {brokers[0]: brokers[1]})}
        words += [f"user_{name}={quoted(password)}" for name, password in users.items()]
        return " ".join((PLAIN_MODULE, "required", *words)) + ";"
    if mechanism in SCRAM:
        return " ".join((SCRAM_MODULE, "required", *words)) + ";"
    return ""


def _listeners(environment: Mapping[str, str]) -> list[str]:
    """Those that speak SASL, where the environment is one of bitnami's image."""
    written = environment.get("KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP")
    try:
        protocols = parse_protocols(written or None)
    except KafkaError:
        return []  # It is told later.
    listeners = environment.get("KAFKA_CFG_LISTENERS", "")
    names = [entry.partition("://")[0].strip().upper() for entry in listeners.split(",")]
    return [name for name in names if protocols.get(name, "").startswith("SASL_")]

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

Differs: bitnami's image also makes the clients users of SCRAM, when it makes a cluster. Here they
are made by AlterUserScramCredentials (kafka-configs), and a warning says so.

Source: what the images' scripts do, not their text.
"""  # noqa: E501  # tables.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafkalite.cli.errors import WrongUseError
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
    notes: tuple[str, ...]


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
    return WithLogins(found, origins, (_OF_SCRAM,) if has_scram else ())


_OF_SCRAM: Final = (
    f"warning: {_CLIENTS}: users of SCRAM are not made here; `kafka-configs --alter --add-config "
    "'SCRAM-SHA-256=[password=...]' --entity-type users --entity-name NAME` makes them, on a "
    "listener that lets somebody in"
)


def _of_bitnami(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    def of(name: str) -> str:
        return environment.get(name) or _DEFAULTS[name]

    listeners = _listeners(environment)
    if not listeners:
        return
    yield "KAFKA_CFG_SASL_ENABLED_MECHANISMS", of("KAFKA_CFG_SASL_ENABLED_MECHANISMS")
    users, passwords = re.split("[,;]", of(_CLIENTS)), re.split("[,;]", of(_PASSWORDS))
    if len(users) != len(passwords):
        raise WrongUseError(
            f"{_CLIENTS} names {len(users)} users, and {_PASSWORDS} {len(passwords)} passwords"
        )
    clients = dict(zip(users, passwords, strict=True))
    brokers = (of("KAFKA_INTER_BROKER_USER"), of("KAFKA_INTER_BROKER_PASSWORD"))
    controllers = of("KAFKA_CFG_CONTROLLER_LISTENER_NAMES").upper().split(",")
    for listener in listeners:
        if listener in controllers:
            continue  # Nobody listens there.
        is_of_brokers = listener == of("KAFKA_CFG_INTER_BROKER_LISTENER_NAME").upper()
        for mechanism in of("KAFKA_CFG_SASL_ENABLED_MECHANISMS").split(","):
            login = _login(mechanism.strip(), clients, brokers if is_of_brokers else None)
            if login:
                where = f"{listener}_{mechanism.strip()}".replace("-", "___")
                yield f"KAFKA_CFG_LISTENER_NAME_{where}_SASL_JAAS_CONFIG", login


def _login(mechanism: str, clients: Mapping[str, str], brokers: tuple[str, str] | None) -> str:
    """For a `sasl.jaas.config`; nothing for a mechanism that the image does not know."""
    words = []
    if brokers is not None:
        words += [f"username={_quoted(brokers[0])}", f"password={_quoted(brokers[1])}"]
    if mechanism == PLAIN:
        users = {**clients, **({} if brokers is None else {brokers[0]: brokers[1]})}
        words += [f"user_{name}={_quoted(password)}" for name, password in users.items()]
        return " ".join((PLAIN_MODULE, "required", *words)) + ";"
    if mechanism in SCRAM:
        return " ".join((SCRAM_MODULE, "required", *words)) + ";"
    return ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


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

"""Key stores as the images of Kafka take them: by variables of their own, from folders that a
container mounts. They become the variables of settings, as the images' scripts have it.

| image | where | variables |
| --- | --- | --- |
| apache/kafka, confluentinc/cp-kafka | /etc/kafka/secrets | KAFKA_SSL_{KEYSTORE,TRUSTSTORE}_FILENAME, names of files with passwords: KAFKA_SSL_{KEYSTORE,KEY,TRUSTSTORE}_CREDENTIALS |
| bitnami/kafka | /opt/bitnami/kafka/config/certs, /bitnami/kafka/config/certs | KAFKA_TLS_TYPE, KAFKA_TLS_CLIENT_AUTH, KAFKA_TLS_NAME_CLIENT_AUTH, KAFKA_TLS_TRUSTSTORE_FILE, KAFKA_CERTIFICATE_PASSWORD |

The first two look at them where `advertised.listeners` has an entry that ends in `SSL://`, and then
they are stronger than the variables of the settings; at a trust store where clients may show a
certificate. The third does where a listener speaks TLS, and there the settings are stronger.

Source: what the images' scripts do, not their text.
"""  # noqa: E501  # tables.

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafkalite.cli.indirect_values import content
from kafkalite.config.listeners import parse_protocols
from kafkalite.errors import KafkaError

SECRETS: Final = "/etc/kafka/secrets"
_CERTS: Final = "/opt/bitnami/kafka/config/certs"
_MOUNTED: Final = "/bitnami/kafka/config"
_CLIENT_AUTH: Final = "KAFKA_SSL_CLIENT_AUTH"
_PASSWORD: Final = "KAFKA_CERTIFICATE_PASSWORD"  # noqa: S105  # a variable's name.
_OF_BITNAMI: Final = ("KAFKA_TLS_", _PASSWORD)


class _Made(NamedTuple):
    """A variable of a setting."""

    name: str
    value: str
    of: str
    """The variable that it comes from."""


def with_key_stores(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The environment with what these variables mean, as variables of settings; and the first, by
    the names of the second. `WrongUseError` for a file that cannot be read."""
    found = dict(environment)
    variables = {}
    for made in (*_of_secrets(environment), *_of_certs(environment)):
        found[made.name] = made.value
        variables[made.name] = made.of
    return found, variables


def _of_secrets(environment: Mapping[str, str]) -> Iterator[_Made]:
    if "SSL://" not in environment.get("KAFKA_ADVERTISED_LISTENERS", ""):
        return
    yield from _location(environment, "KEYSTORE")
    yield from _secret(environment, "KEY")
    yield from _secret(environment, "KEYSTORE")
    auth = environment.get(_CLIENT_AUTH, "")
    if "required" in auth or "requested" in auth:
        yield from _location(environment, "TRUSTSTORE")
        yield from _secret(environment, "TRUSTSTORE")


def _location(environment: Mapping[str, str], store: str) -> Iterator[_Made]:
    variable = f"KAFKA_SSL_{store}_FILENAME"
    if environment.get(variable):
        path = os.path.join(SECRETS, environment[variable])
        yield _Made(f"KAFKA_SSL_{store}_LOCATION", path, variable)


def _secret(environment: Mapping[str, str], part: str) -> Iterator[_Made]:
    variable = f"KAFKA_SSL_{part}_CREDENTIALS"
    if environment.get(variable):
        path = os.path.join(SECRETS, environment[variable])
        yield _Made(f"KAFKA_SSL_{part}_PASSWORD", _text(path, variable), variable)


def _of_certs(environment: Mapping[str, str]) -> Iterator[_Made]:
    named = [name for name in environment if name.startswith(_OF_BITNAMI)]
    if not named or not _speaks_tls(environment):
        return
    for made in _of_bitnami(environment, named[0]):
        if made.name not in environment:
            yield made


def _of_bitnami(environment: Mapping[str, str], named: str) -> Iterator[_Made]:
    """`named`: the variable that tells of the image, where none says more."""
    start = "KAFKA_CFG_SSL_"
    kind = environment.get("KAFKA_TLS_TYPE") or "JKS"
    auth = environment.get("KAFKA_TLS_CLIENT_AUTH") or "required"
    yield _Made(f"{start}CLIENT_AUTH", auth, "KAFKA_TLS_CLIENT_AUTH")
    yield _Made(f"{start}KEYSTORE_TYPE", kind, "KAFKA_TLS_TYPE")
    yield _Made(f"{start}TRUSTSTORE_TYPE", kind, "KAFKA_TLS_TYPE")
    trusted = "KAFKA_TLS_TRUSTSTORE_FILE" if environment.get("KAFKA_TLS_TRUSTSTORE_FILE") else named
    path = environment.get(trusted) if trusted != named else None
    if kind == "PEM":
        key, chain = _mounted(environment, "keystore.key"), _mounted(environment, "keystore.pem")
        path = path or _mounted(environment, "truststore.pem")
        yield _Made(f"{start}KEYSTORE_KEY", _text(key, named), named)
        yield _Made(f"{start}KEYSTORE_CERTIFICATE_CHAIN", _text(chain, named), named)
        yield _Made(f"{start}TRUSTSTORE_CERTIFICATES", _text(path, trusted), trusted)
    else:
        path = path or _mounted(environment, "truststore.jks")
        yield _Made(f"{start}KEYSTORE_LOCATION", _mounted(environment, "keystore.jks"), named)
        yield _Made(f"{start}TRUSTSTORE_LOCATION", path, trusted)
    password = _password(environment)
    if password is not None:
        yield password._replace(name=f"{start}KEY_PASSWORD")
        if kind != "PEM":
            yield password._replace(name=f"{start}KEYSTORE_PASSWORD")
            yield password._replace(name=f"{start}TRUSTSTORE_PASSWORD")
    for variable, value in environment.items():
        listener = variable.removeprefix("KAFKA_TLS_").removesuffix("_CLIENT_AUTH")
        if value and variable == f"KAFKA_TLS_{listener}_CLIENT_AUTH":
            written = listener.replace("_", "__").replace("-", "___")
            yield _Made(f"KAFKA_CFG_LISTENER_NAME_{written}_SSL_CLIENT_AUTH", value, variable)


def _password(environment: Mapping[str, str]) -> _Made | None:
    file = f"{_PASSWORD}_FILE"
    if environment.get(file):
        return _Made("", _text(environment[file], file), file)
    text = environment.get(_PASSWORD)
    return _Made("", text, _PASSWORD) if text else None


def _mounted(environment: Mapping[str, str], name: str) -> str:
    """Where the file is, or should be."""
    path = os.path.join(_CERTS, f"kafka.{name}")
    if os.path.exists(path):
        return path
    folder = environment.get("KAFKA_MOUNTED_CONF_DIR") or _MOUNTED
    return os.path.join(folder, "certs", f"kafka.{name}")


def _speaks_tls(environment: Mapping[str, str]) -> bool:
    def of(name: str) -> str:
        return environment.get(f"KAFKA_CFG_{name}") or environment.get(f"KAFKA_{name}", "")

    try:
        protocols = parse_protocols(of("LISTENER_SECURITY_PROTOCOL_MAP") or None)
    except KafkaError:
        return False  # It is told later.
    names = (entry.partition("://")[0].strip().upper() for entry in of("LISTENERS").split(","))
    return any(protocols.get(name, "").endswith("SSL") for name in names)


def _text(path: str, variable: str) -> str:
    """What the file has, without its last line's end, as a shell takes it."""
    return content(path, f"{path} ({variable})").rstrip("\r\n")

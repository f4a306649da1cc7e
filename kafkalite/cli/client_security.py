"""How a command proves to a cluster who it is: the file of `--command-config`, as Kafka's own tools
take it, with librdkafka's names for the same things beside Kafka's.

| setting | or |
| --- | --- |
| `security.protocol` | |
| `sasl.mechanism` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) | `sasl.mechanisms` |
| `sasl.jaas.config` | `sasl.username`, `sasl.password` |
| `ssl.truststore.location` (PEM), `ssl.truststore.certificates` | `ssl.ca.location` |
| `ssl.keystore.location` (PEM, the key too) | `ssl.certificate.location`, `ssl.key.location` |
| `ssl.key.password` | |
| `ssl.endpoint.identification.algorithm` (https, or empty) | |

Not here: Java's own kinds of key stores, GSSAPI, OAUTHBEARER. Other settings have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.properties_files import read_properties_file
from kafkalite.cli.small_files import read_small_file

if TYPE_CHECKING:
    from ssl import SSLContext

_OPTION = "--command-config"
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS_OPTION = re.compile(
    r"""(?P<key>\w+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s;]+))"""
)
_CAS = ("ssl.truststore.location", "ssl.ca.location")
_CERTIFICATES = ("ssl.keystore.location", "ssl.certificate.location")
_HOW_TO_PEM = "only PEM is read; `keytool -exportcert -rfc` and `openssl pkcs12 -nodes` write it"


@dataclass(frozen=True, slots=True)
class Login:
    """What SASL takes."""

    mechanism: str
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """What is spoken with a broker."""

    protocol: str = "PLAINTEXT"
    tls: SSLContext | None = None
    """None: it is not encrypted."""
    login: Login | None = None
    """None: nobody is asked who they are, or a certificate says it."""

    def settings(self) -> dict[str, object]:
        """For the clients of kafka-python."""
        settings: dict[str, object] = {"security_protocol": self.protocol}
        if self.tls is not None:
            settings |= {"ssl_context": self.tls, "ssl_check_hostname": self.tls.check_hostname}
        if self.login is not None:
            settings |= {
                "sasl_mechanism": self.login.mechanism,
                "sasl_plain_username": self.login.username,
                "sasl_plain_password": self.login.password,
            }
        return settings


def read_security(path: str) -> ClientSecurity:
    """`WrongUseError`, in one line with the file's name, for what cannot be read or meant."""
    properties = read_properties_file(path, _OPTION)
    try:
        return _security({name: each.value.strip() for name, each in properties.items()})
    except ValueError as error:
        raise WrongUseError(f"{_OPTION} {path}: {error}") from error


def _security(given: Mapping[str, str]) -> ClientSecurity:
    protocol = given.get("security.protocol", _PROTOCOLS[0]).upper()
    if protocol not in _PROTOCOLS:
        raise ValueError(f"security.protocol={protocol}: allowed is {', '.join(_PROTOCOLS)}")
    return ClientSecurity(
        protocol,
        _tls(given) if protocol.endswith("SSL") else None,
        _login(given) if protocol.startswith("SASL") else None,
    )


def _login(given: Mapping[str, str]) -> Login:
    mechanism = given.get("sasl.mechanism") or given.get("sasl.mechanisms")
    if mechanism not in _MECHANISMS:
        given_as = f"={mechanism}" if mechanism else " is not set, which stands for GSSAPI"
        raise ValueError(f"sasl.mechanism{given_as}; spoken are {', '.join(_MECHANISMS)}")
    said = dict(map(_unquoted, _JAAS_OPTION.finditer(given.get("sasl.jaas.config", ""))))
    username = said.get("username") or given.get("sasl.username")
    password = said.get("password") or given.get("sasl.password")
    if not username or password is None:
        raise ValueError(
            'no username and password: say sasl.jaas.config=... required username="..." '
            'password="..."; or sasl.username and sasl.password'
        )
    return Login(mechanism, username, password)


def _unquoted(found: re.Match[str]) -> tuple[str, str]:
    quoted = found["quoted"]
    if quoted is not None:
        return found["key"], re.sub(r"\\(.)", r"\1", quoted)
    return found["key"], found["single"] if found["single"] is not None else found["bare"]


def _tls(given: Mapping[str, str]) -> SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = given.get("ssl.endpoint.identification.algorithm", "https")
    context.check_hostname = algorithm.lower() not in ("", "none")
    inline = given.get("ssl.truststore.certificates")
    key, ca = _named(given, _CAS)
    if inline:
        key, trusted = "ssl.truststore.certificates", inline
    else:
        trusted = _pem(key, ca) if ca else ""
    if trusted:
        try:
            context.load_verify_locations(cadata=trusted)
        except ssl.SSLError as error:
            raise ValueError(f"{key}: there is no certificate in it that can be read") from error
    else:
        context.load_default_certs()
    key, certificate = _named(given, _CERTIFICATES)
    if certificate:
        _pem(key, certificate)
        password = given.get("ssl.key.password") or given.get("ssl.keystore.password") or ""
        try:
            # An empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(certificate, given.get("ssl.key.location"), password)
        except OSError as error:
            why = error.strerror or error
            raise ValueError(
                f"{key}={certificate}: {why}; it needs a certificate with its key, and "
                "ssl.key.password where the key has one"
            ) from error
    elif given.get("ssl.keystore.key"):
        raise ValueError("ssl.keystore.key: keys are read from files; use ssl.keystore.location")
    return context


def _named(given: Mapping[str, str], keys: tuple[str, ...]) -> tuple[str, str | None]:
    """The first that is set, and its value."""
    return next(((key, given[key]) for key in keys if given.get(key)), (keys[0], None))


def _pem(key: str, path: str) -> str:
    """The text of a file of certificates."""
    try:
        data = read_small_file(path)
    except ValueError as error:
        raise ValueError(f"{key}={path}: {error}") from error
    if b"-----BEGIN " not in data:
        raise ValueError(f"{key}={path}: {_HOW_TO_PEM}")
    return data.decode("latin-1")

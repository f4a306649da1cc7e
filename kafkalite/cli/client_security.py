"""How a command proves to a cluster who it is: the file of `--command-config`, as Kafka's own tools
take it, with librdkafka's names for the same things beside Kafka's.

| setting | or |
| --- | --- |
| `security.protocol` | |
| `sasl.mechanism` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER) | `sasl.mechanisms` |
| `sasl.jaas.config` | `sasl.username`, `sasl.password` |
| `ssl.truststore.location`, `ssl.truststore.certificates` | `ssl.ca.location` |
| `ssl.keystore.location`, `ssl.keystore.key`, `ssl.keystore.certificate.chain` | \
`ssl.certificate.location`, `ssl.key.location` |
| all other `ssl.` settings that `config.tls` knows | |

Of OAUTHBEARER, unsigned tokens for `unsecuredLoginStringClaim_sub`. Not here: GSSAPI. Other
settings have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.properties_files import read_properties_file
from kafkalite.config.jaas import JaasError, parse_jaas_value
from kafkalite.ports.small_files import read_small_file

if TYPE_CHECKING:
    from ssl import SSLContext

_OPTION = "--command-config"
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OAUTHBEARER = "OAUTHBEARER"
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", _OAUTHBEARER)
_SUBJECT = "unsecuredLoginStringClaim_sub"
_OF_LIBRDKAFKA = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")


@dataclass(frozen=True, slots=True)
class Login:
    """What SASL takes."""

    mechanism: str
    username: str
    password: str
    """Empty for OAUTHBEARER, which has none."""

    def settings(self) -> dict[str, object]:
        """For kafka-python."""
        if self.mechanism == _OAUTHBEARER:
            from kafkalite.cli.unsigned_tokens import UnsignedTokens
            from kafkalite.ports.clock import RealClock

            tokens = UnsignedTokens(self.username, RealClock())
            return {"sasl_mechanism": self.mechanism, "sasl_oauth_token_provider": tokens}
        return {
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.username,
            "sasl_plain_password": self.password,
        }


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
            settings |= self.login.settings()
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
    said = _said(given.get("sasl.jaas.config", "").strip())
    if mechanism == _OAUTHBEARER:
        if not said.get(_SUBJECT):
            raise ValueError(f'nobody is named: say sasl.jaas.config=... required {_SUBJECT}="..."')
        return Login(mechanism, said[_SUBJECT], "")
    username = said.get("username") or given.get("sasl.username")
    password = said.get("password") or given.get("sasl.password")
    if not username or password is None:
        raise ValueError(
            'no username and password: say sasl.jaas.config=... required username="..." '
            'password="..."; or sasl.username and sasl.password'
        )
    return Login(mechanism, username, password)


def _said(jaas: str) -> Mapping[str, str]:
    """The options of the one login there."""
    if not jaas:
        return {}
    try:
        (login,) = parse_jaas_value(jaas)
    except JaasError as error:
        raise ValueError(f"sasl.jaas.config: {error.message}") from error
    except ValueError as error:
        raise ValueError("sasl.jaas.config has several logins; one is taken") from error
    return login.options


def _tls(given: Mapping[str, str]) -> SSLContext:
    from kafkalite.config.listeners import ListenersError
    from kafkalite.config.tls import dialing_settings
    from kafkalite.errors import KafkaError
    from kafkalite.ports.tls_context import client_context

    settings = {name: text for name, text in given.items() if name.startswith("ssl.")}
    for name in _OF_LIBRDKAFKA:
        settings.pop(name, None)
    _take_ca(settings, given)
    _take_certificate(settings, given)
    for store in ("ssl.keystore.", "ssl.truststore."):
        _find_kind(settings, store)
    try:
        return client_context(dialing_settings(settings))
    except ListenersError as error:
        raise ValueError(f"{error.message.removesuffix('.')}; {error.remedy}") from error
    except KafkaError as error:
        raise ValueError(error.message) from error


def _take_ca(settings: dict[str, str], given: Mapping[str, str]) -> None:
    ca = given.get("ssl.ca.location")
    if ca and not settings.get("ssl.truststore.location"):
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.certificates"] = _text("ssl.ca.location", ca)


def _take_certificate(settings: dict[str, str], given: Mapping[str, str]) -> None:
    certificate = given.get("ssl.certificate.location")
    if not certificate or settings.get("ssl.keystore.location"):
        return
    settings["ssl.keystore.type"] = "PEM"
    key = given.get("ssl.key.location")
    if key:
        chain = _text("ssl.certificate.location", certificate)
        settings["ssl.keystore.certificate.chain"] = chain
        settings["ssl.keystore.key"] = _text("ssl.key.location", key)
    else:
        settings["ssl.keystore.location"] = certificate


def _find_kind(settings: dict[str, str], store: str) -> None:
    """Where no type is set, a file of PEM is taken for what it is."""
    path = settings.get(f"{store}location")
    if not path:
        settings.pop(f"{store}location", None)
        return
    if f"{store}type" not in settings and "-----BEGIN " in _text(f"{store}location", path):
        settings[f"{store}type"] = "PEM"
        password = settings.pop(f"{store}password", None)
        if password is not None and store == "ssl.keystore.":
            settings.setdefault("ssl.key.password", password)


def _text(name: str, path: str) -> str:
    try:
        return read_small_file(path).decode("latin-1")
    except ValueError as error:
        raise ValueError(f"{name}={path}: {error}") from error

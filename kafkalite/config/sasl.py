"""How SASL is spoken on a listener: its mechanisms, whom each lets in, and for how long.

What belongs to one mechanism is set as `listener.name.NAME.MECHANISM.KEY`, both names in lower
case: `sasl.jaas.config`, `connections.max.reauth.ms`, `sasl.server.callback.handler.class`. Without
a `sasl.jaas.config` there, the login is looked for in the file of JAAS, whose sections are given
here: no file is read.

Source: Kafka's `ChannelBuilders`, `SaslChannelBuilder`, `JaasContext`.

Kafka differs: it speaks GSSAPI (Kerberos), and mechanisms that a Java class brings. Here GSSAPI is
left out where there are others; else it is refused, and so are classes that are not Kafka's.

Kafka differs: with OAUTHBEARER it logs in itself, and does not start where the login does not say
as whom (`unsecuredLoginStringClaim_sub`). Here it may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, NoReturn

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.jaas import JaasEntry, JaasError, parse_jaas_value
from kafkalite.config.listener_settings import ListenerSettings
from kafkalite.config.listeners import LISTENERS, PROTOCOL_MAP, ListenersError
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
MECHANISMS: Final = (PLAIN, *SCRAM, OAUTHBEARER)
"""Those that are spoken."""
ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
FILE: Final = "kafkalite.java.security.auth.login.config"
_REAUTH: Final = "connections.max.reauth.ms"
_HANDLER: Final = "sasl.server.callback.handler.class"
_OF_LISTENERS: Final = ("sasl.", _REAUTH)
_SECTION: Final = "KafkaServer"
_PACKAGE: Final = "org.apache.kafka.common.security"
PLAIN_MODULE: Final = f"{_PACKAGE}.plain.PlainLoginModule"
SCRAM_MODULE: Final = f"{_PACKAGE}.scram.ScramLoginModule"
OAUTHBEARER_MODULE: Final = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
_MODULES: Final = {
    PLAIN: PLAIN_MODULE,
    **dict.fromkeys(SCRAM, SCRAM_MODULE),
    OAUTHBEARER: OAUTHBEARER_MODULE,
}
_HANDLERS: Final = {
    PLAIN: f"{_PACKAGE}.plain.internals.PlainServerCallbackHandler",
    **dict.fromkeys(SCRAM, f"{_PACKAGE}.scram.internals.ScramServerCallbackHandler"),
    OAUTHBEARER: f"{_PACKAGE}.oauthbearer.internals.unsecured."
    "OAuthBearerUnsecuredValidatorCallbackHandler",
}
"""Those that check by default."""

Sections = Mapping[str, tuple[JaasEntry, ...]]
"""Of a file of JAAS, by name."""


class MechanismSettings(NamedTuple):
    """Of one mechanism on one listener."""

    logins: tuple[JaasEntry, ...]
    """At least one. Those of other modules than the mechanism's own mean nothing to it."""
    setting: str
    """Where they stand."""
    max_session_ms: int
    """0 or less: for good, or as long as what the client shows."""


class SaslSettings(NamedTuple):
    """Of one listener."""

    mechanisms: Mapping[str, MechanismSettings]
    """At least one; by name, in the order that they are enabled in."""
    max_token_bytes: int
    failure_delay_ms: int
    """How long a client that failed waits for the answer."""


def sasl_settings(
    config: BrokerConfig, listener: str, sections: Sections = MappingProxyType({})
) -> SaslSettings:
    """Of a listener that speaks SASL; `sections` are those of the file. `ListenersError` for what
    is missing or cannot be."""
    names = ListenerSettings(config, listener, _OF_LISTENERS)
    mechanisms = spoken_mechanisms(config, listener)
    if not mechanisms:
        _refuse_kerberos(names)
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            _refuse(
                f"Invalid value {mechanism} for configuration {names.of(ENABLED)}: it is not spoken"
                " here",
                names.of(ENABLED),
                remedy=f"allowed are {', '.join(MECHANISMS)}",
            )
    return SaslSettings(
        {each: _mechanism(names, listener, each, sections) for each in mechanisms},
        names.config.sasl_server_max_receive_size,
        config.connection_failed_authentication_delay_ms,
    )


def spoken_mechanisms(config: BrokerConfig, listener: str) -> tuple[str, ...]:
    """Those that are enabled there, without GSSAPI."""
    enabled = ListenerSettings(config, listener, _OF_LISTENERS).config.sasl_enabled_mechanisms
    return tuple(each for each in enabled if each != GSSAPI)


def check_inter_broker_mechanism(config: BrokerConfig, listener: str) -> None:
    """`ListenersError` where brokers are to talk on that listener, which speaks SASL, by a
    mechanism that it does not take."""
    names = ListenerSettings(config, listener, _OF_LISTENERS)
    mechanism = config.sasl_mechanism_inter_broker_protocol
    if mechanism not in names.config.sasl_enabled_mechanisms:
        key = "sasl.mechanism.inter.broker.protocol"
        _refuse(
            f"{key} must be included in sasl.enabled.mechanisms when SASL is used for inter-broker "
            f"communication, and {mechanism} is not",
            *(key, names.of(ENABLED)),
            remedy=f"say {key}={spoken_mechanisms(config, listener)[0]}",
        )


def _mechanism(
    names: ListenerSettings, listener: str, mechanism: str, sections: Sections
) -> MechanismSettings:
    prefix = f"{names.prefix}{mechanism.lower()}."
    settings = names.config.settings
    _check_handler(mechanism, f"{prefix}{_HANDLER}", settings)
    setting = f"{prefix}{JAAS}"
    text = settings.get(setting)
    if text is not None:
        logins = _of_a_value(text, setting)
    else:
        logins, setting = _of_the_file(listener, mechanism, sections, setting)
    _check_modules(mechanism, logins, setting)
    return MechanismSettings(logins, setting, _max_session_ms(names, f"{prefix}{_REAUTH}"))


def _of_a_value(text: str, setting: str) -> tuple[JaasEntry, ...]:
    try:
        logins = parse_jaas_value(text)
    except JaasError as error:
        _refuse(f"{setting}: {error.message}", setting, remedy="mend it, or leave it out")
    if len(logins) != 1:
        _refuse(
            f"{setting}: JAAS config property contains {len(logins)} login modules, should be 1 "
            "module",
            setting,
            remedy="leave the others out",
        )
    return logins


def _of_the_file(
    listener: str, mechanism: str, sections: Sections, setting: str
) -> tuple[tuple[JaasEntry, ...], str]:
    """The logins, and where they stand."""
    own = f"{listener.lower()}.{_SECTION}"
    for name in (own, _SECTION):
        if sections.get(name):  # A section without a login is none to Java.
            return sections[name], FILE
    _refuse(
        f"Could not find a '{_SECTION}' or '{own}' entry in the JAAS configuration",
        *(setting, FILE, ENABLED, LISTENERS),
        remedy=f"let {setting} be a login, such as {_MODULES[mechanism]} required"
        f"{_EXAMPLES.get(mechanism, '')};, or let {FILE} name a file",
    )


_EXAMPLES: Final = {PLAIN: ' user_alice="secret"'}


def _check_modules(mechanism: str, logins: tuple[JaasEntry, ...], setting: str) -> None:
    if mechanism == OAUTHBEARER and len(logins) != 1:
        _refuse(
            "Must supply exactly 1 non-null JAAS mechanism configuration (size was "
            f"{len(logins)}) for {mechanism}",
            setting,
            remedy="give it a login of its own, as listener.name.NAME.oauthbearer.sasl.jaas.config",
        )
    module = _MODULES[mechanism]
    others = [each.module for each in logins if each.module not in _MODULES.values()]
    if others and all(each.module != module for each in logins):
        _refuse(
            f"{setting}: {others[0]} is a Java class, which cannot be loaded here",
            setting,
            remedy=f"{mechanism} takes {module}",
        )


def _check_handler(mechanism: str, setting: str, settings: Mapping[str, str]) -> None:
    handler = settings.get(setting, "").strip()
    if handler and handler != _HANDLERS[mechanism]:
        _refuse(
            f"Invalid value {handler} for configuration {setting}: it is a Java class, which cannot"
            " be loaded here",
            setting,
            remedy=f"leave it out, for {_HANDLERS[mechanism].rpartition('.')[2]}",
        )


def _max_session_ms(names: ListenerSettings, setting: str) -> int:
    text = names.config.settings.get(setting)
    if text is None:
        return names.config.connections_max_reauth_ms
    try:
        value = BROKER_KEYS[_REAUTH]._replace(name=setting).parse(text)
    except KafkaError as error:
        raise ListenersError(error.message, (setting,), "mend it, or leave it out") from error
    assert isinstance(value, int)
    return value


def _refuse_kerberos(names: ListenerSettings) -> NoReturn:
    value = ",".join(names.config.sasl_enabled_mechanisms)
    given = "" if names.of(ENABLED) in names.config.settings else " (its default)"
    _refuse(
        f"Invalid value {value}{given} for configuration {names.of(ENABLED)}: Kerberos is not "
        "spoken here",
        *(names.of(ENABLED), LISTENERS, PROTOCOL_MAP),
        remedy=f"name some of {', '.join(MECHANISMS)}",
    )


def _refuse(message: str, *settings: str, remedy: str) -> NoReturn:
    raise ListenersError(message, settings, remedy)

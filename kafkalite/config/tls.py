"""How TLS is spoken on a listener: the `ssl.` settings, read and refused as Kafka does.

A setting may be a listener's own, `listener.name.NAME.ssl...` with the name in lower case, which is
then stronger than the one without. No file is read here; `ports.key_stores` does.

Source: Kafka's `DefaultSslEngineFactory`, `SslConfigs`, `BrokerSecurityConfigs`.

Kafka differs: it starts with a TLS listener that has no key store, and then no client gets through.
Here that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

from kafkalite.config.listener_settings import ListenerSettings
from kafkalite.config.listeners import LISTENERS, ListenersError
from kafkalite.config.views import BrokerConfig

PEM: Final = "PEM"
KINDS: Final = ("JKS", "PKCS12", PEM)
VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
"""Those that are spoken."""
_OLDER: Final = ("SSL", "SSLv2Hello", "SSLv2", "SSLv3", "TLSv1", "TLSv1.1")
"""Java takes them, and does not speak them either unless its own settings are changed."""
_ANY: Final = "TLS"
_SSL: Final = "ssl."
_CLIENT_AUTH: Final = "ssl.client.auth"
_NO_CERTIFICATE: Final = "none"
_KEY_STORE: Final = "ssl.keystore."
_TRUST_STORE: Final = "ssl.truststore."


class Store(NamedTuple):
    """Where keys and certificates are, or certificates that are trusted."""

    setting: str
    """The one that says so, with the listener's name if it is its own."""
    kind: str
    """One of `KINDS`."""
    location: str | None
    """Of the file; None: it is `text`."""
    text: str
    """PEM, where there is no file."""
    password: str | None
    """Of the file."""
    password_setting: str
    key_password: str | None
    """Of the private key in it; None: as the file's."""
    key_password_setting: str


class TlsSettings(NamedTuple):
    """Of one listener, and of whoever dials it on another broker."""

    key_store: Store | None
    """None: nothing is shown; a client's."""
    trust_store: Store | None
    """None: those that the system trusts."""
    client_auth: str
    """`required`, `requested` or `none`."""
    versions: tuple[str, ...]
    """Some of `VERSIONS`, for who is dialed."""
    newest_version: str
    """For who dials."""
    cipher_suites: tuple[str, ...]
    """By Java's names; empty: all good ones."""
    cipher_suites_setting: str
    checks_host: bool
    """For who dials: whether the certificate must be for the host that was dialed."""


def tls_settings(config: BrokerConfig, listener: str, *, has_sasl: bool = False) -> TlsSettings:
    """Of a listener that speaks TLS; `has_sasl`: and SASL, so that clients need no certificate
    unless that is said of this listener alone. `ListenersError` for what contradicts itself or is
    missing."""
    names = ListenerSettings(config, listener, (_SSL,))
    settings = _settings(names.config, names)
    if has_sasl and not names.is_own(_CLIENT_AUTH):
        settings = settings._replace(client_auth=_NO_CERTIFICATE)
    if settings.key_store is None:
        _refuse(
            f"The listener {listener} speaks SSL, and has no key store",
            *(f"{_KEY_STORE}location", LISTENERS),
            remedy=f"let {_KEY_STORE}location name one (PKCS12, JKS, or PEM with "
            f"{_KEY_STORE}type=PEM)",
        )
    return settings


def dialing_settings(settings: Mapping[str, str]) -> TlsSettings:
    """Of a client, whose settings have the same names. Errors as above, and `KafkaError` for a
    value that its key does not take."""
    names = ListenerSettings(BrokerConfig.of(settings), "", (_SSL,))
    return _settings(names.config, names)


def _settings(config: BrokerConfig, names: ListenerSettings) -> TlsSettings:
    return TlsSettings(
        key_store=_key_store(config, names),
        trust_store=_trust_store(config, names),
        client_auth=config.ssl_client_auth,
        versions=_versions(config, names),
        newest_version=_newest_version(config, names),
        cipher_suites=config.ssl_cipher_suites,
        cipher_suites_setting=names.of("ssl.cipher.suites"),
        checks_host=config.ssl_endpoint_identification_algorithm.lower() == "https",
    )


def _key_store(config: BrokerConfig, names: ListenerSettings) -> Store | None:
    kind = _kind(config.ssl_keystore_type, f"{_KEY_STORE}type", names)
    key, chain = config.ssl_keystore_key, config.ssl_keystore_certificate_chain
    password = config.ssl_keystore_password
    if key is not None or chain is not None:
        setting = names.of(
            f"{_KEY_STORE}key" if key is not None else f"{_KEY_STORE}certificate.chain"
        )
        location = config.ssl_keystore_location
        _check_text(kind, location, password, setting, names, _KEY_STORE)
        if key is None:
            _refuse(
                "SSL certificate chain is specified, but private key is not specified",
                setting,
                remedy=f"let {_KEY_STORE}key have it",
            )
        if chain is None:
            _refuse(
                "SSL private key is specified, but certificate chain is not specified.",
                setting,
                remedy=f"let {_KEY_STORE}certificate.chain have it",
            )
        text = f"{chain}\n{key}"
    else:
        setting, text = names.of(f"{_KEY_STORE}location"), ""
        location = _of_file(kind, config.ssl_keystore_location, password, names, _KEY_STORE)
        if location is None:
            return None
        if kind != PEM and password is None:
            _refuse(
                "SSL key store is specified, but key store password is not specified.",
                setting,
                remedy=f"let {_KEY_STORE}password have it, or say {_KEY_STORE}type=PEM",
            )
    return Store(
        setting,
        kind,
        location,
        text,
        password,
        names.of(f"{_KEY_STORE}password"),
        config.ssl_key_password,
        names.of("ssl.key.password"),
    )


def _trust_store(config: BrokerConfig, names: ListenerSettings) -> Store | None:
    kind = _kind(config.ssl_truststore_type, f"{_TRUST_STORE}type", names)
    password = config.ssl_truststore_password
    text = config.ssl_truststore_certificates
    if text is not None:
        setting = names.of(f"{_TRUST_STORE}certificates")
        location = config.ssl_truststore_location
        _check_text(kind, location, password, setting, names, _TRUST_STORE)
    else:
        setting = names.of(f"{_TRUST_STORE}location")
        location = _of_file(kind, config.ssl_truststore_location, password, names, _TRUST_STORE)
        if location is None:
            return None
    where = names.of(f"{_TRUST_STORE}password")
    return Store(setting, kind, location, text or "", password, where, None, where)


def _check_text(
    kind: str,
    location: str | None,
    password: str | None,
    setting: str,
    names: ListenerSettings,
    prefix: str,
) -> None:
    """Refuses what does not go together with PEM that stands in the settings themselves."""
    if kind != PEM:
        _refuse(
            f"{setting} can be specified only for PEM, but the type is {kind}.",
            *(setting, names.of(f"{prefix}type")),
            remedy=f"say {prefix}type=PEM",
        )
    if location is not None:
        _refuse(
            f"Both {prefix}location and {setting} are specified.",
            *(setting, names.of(f"{prefix}location")),
            remedy="use one of them",
        )
    if password is not None:
        _refuse_password(names, prefix)


def _of_file(
    kind: str, location: str | None, password: str | None, names: ListenerSettings, prefix: str
) -> str | None:
    """The file; None: there is none."""
    if location is None and password is not None:
        _refuse(
            f"{prefix}password is specified, but {prefix}location is not.",
            names.of(f"{prefix}password"),
            remedy=f"let {prefix}location name the file",
        )
    if kind == PEM and password is not None:
        _refuse_password(names, prefix)
    return location


def _refuse_password(names: ListenerSettings, prefix: str) -> NoReturn:
    _refuse(
        f"{prefix}password cannot be specified with PEM format.",
        names.of(f"{prefix}password"),
        remedy="leave it out; what unlocks the key is ssl.key.password",
    )


def _kind(text: str, setting: str, names: ListenerSettings) -> str:
    # Java takes names of its own kinds in any case; PEM is Kafka's, and is not so.
    kind = text if text == PEM else text.upper()
    if kind not in KINDS or (kind == PEM and text != PEM):
        _refuse(
            f"Invalid value {text} for configuration {names.of(setting)}: no such kind of store",
            names.of(setting),
            remedy=f"allowed are {', '.join(KINDS)}",
        )
    return kind


def _versions(config: BrokerConfig, names: ListenerSettings) -> tuple[str, ...]:
    wanted = config.ssl_enabled_protocols or VERSIONS
    setting = names.of("ssl.enabled.protocols")
    for version in wanted:
        if version not in (*VERSIONS, *_OLDER):
            _refuse(
                f"Invalid value {version} for configuration {setting}: Unsupported protocol",
                setting,
                remedy=f"allowed are {', '.join(VERSIONS)}",
            )
    spoken = tuple(version for version in VERSIONS if version in wanted)
    if not spoken:
        _refuse(
            f"Invalid value {','.join(wanted)} for configuration {setting}: none of them is safe",
            setting,
            remedy=f"allowed are {', '.join(VERSIONS)}",
        )
    return spoken


def _newest_version(config: BrokerConfig, names: ListenerSettings) -> str:
    wanted = config.ssl_protocol
    setting = names.of("ssl.protocol")
    if wanted not in (_ANY, *VERSIONS):
        _refuse(
            f"Invalid value {wanted} for configuration {setting}: it is not spoken",
            setting,
            remedy=f"allowed are {', '.join((_ANY, *VERSIONS))}",
        )
    return VERSIONS[-1] if wanted == _ANY else wanted


def _refuse(message: str, *settings: str, remedy: str) -> NoReturn:
    raise ListenersError(message, settings, remedy)

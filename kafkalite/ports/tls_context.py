"""OpenSSL's contexts (`ssl.SSLContext`), made of a listener's settings.

Versions before TLSv1.2, compression and renegotiation are off. What Java calls a cipher suite has
another name in OpenSSL, whose rule is here.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import IO, Final, NoReturn

from kafkalite.config.listeners import ListenersError
from kafkalite.config.tls import VERSIONS, Store, TlsSettings
from kafkalite.ports.key_stores import read_identity, read_trusted

_DESCRIPTORS: Final = "/proc/self/fd"
_VERIFY = {"required": ssl.CERT_REQUIRED, "requested": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
_NUMBERS = dict(zip(VERSIONS, (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3), strict=True))
_OF_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """For whoever connects. `ListenersError` for a store that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_mode = _VERIFY[settings.client_auth]
    _set_versions(context, settings, settings.versions)
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, settings)
    _show(context, settings)
    return context


def client_context(settings: TlsSettings, *, trusts_all: bool = False) -> ssl.SSLContext:
    """For dialing a listener of those settings. `trusts_all`: whoever answers, as one does who
    dials oneself. `ListenersError` as above."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host and not trusts_all
    versions = [
        version
        for version in settings.versions
        if _NUMBERS[version] <= _NUMBERS[settings.newest_version]
    ]
    _set_versions(context, settings, tuple(versions) or settings.versions)
    if trusts_all:
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(context, settings)
    _show(context, settings)
    return context


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    store = settings.trust_store
    if store is None:
        purpose = (
            ssl.Purpose.CLIENT_AUTH
            if context.protocol is ssl.PROTOCOL_TLS_SERVER
            else ssl.Purpose.SERVER_AUTH
        )
        context.load_default_certs(purpose)
        return
    # Java believes each of them by itself, be it signed by another that is not among them.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=read_trusted(store))
    except (ssl.SSLError, TypeError) as error:  # The latter for what is not ASCII.
        _refuse(store, error)


def _show(context: ssl.SSLContext, settings: TlsSettings) -> None:
    store = settings.key_store
    if store is None:
        return
    identity = read_identity(store)
    with _file_of(identity.certificates + identity.key) as path:
        try:
            # An empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(path, password=identity.password)
        except (ssl.SSLError, ValueError) as error:
            _refuse(store, error, is_locked="ENCRYPTED" in identity.key)


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """The path of a file with that text, which is secret: OpenSSL takes keys by Python's `ssl` from
    files alone. Linux has files without a name, which are gone with the process, however it ends;
    elsewhere it is one of this user's, for a moment."""
    try:
        file = _file_without_a_name()
    except OSError:  # A container may forbid them.
        file = None
    if file is None:
        with TemporaryDirectory(prefix="kafkalite-") as folder:
            path = os.path.join(folder, "identity.pem")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as named:
                named.write(text)
            yield path
        return
    with file:
        file.write(text)
        file.flush()
        yield f"{_DESCRIPTORS}/{file.fileno()}"


def _file_without_a_name() -> IO[str] | None:
    """None where there are none, or where nobody could open it again."""
    if sys.platform != "linux" or not os.path.isdir(_DESCRIPTORS):
        return None
    return open(os.memfd_create("kafkalite"), "w")


def _refuse(store: Store, error: Exception, *, is_locked: bool = False) -> NoReturn:
    where = store.setting if store.location is None else f"{store.setting}={store.location}"
    settings = (store.setting, store.key_password_setting)
    if is_locked and getattr(error, "reason", None) != "KEY_VALUES_MISMATCH":
        unlocks = store.key_password_setting
        given = store.key_password is not None
        why = f"{unlocks} does not unlock its key" if given else "its key needs a password"
        remedy = f"let {unlocks} have the one that it was made with"
        raise ListenersError(f"{where}: {why}", settings, remedy) from error
    reason = getattr(error, "reason", None) or "it is damaged"
    raise ListenersError(
        f"{where}: it cannot be used ({reason.lower().replace('_', ' ')})",
        settings,
        "it needs good certificates, and a key that belongs to the first",
    ) from error


def _set_versions(
    context: ssl.SSLContext, settings: TlsSettings, versions: tuple[str, ...]
) -> None:
    suites = settings.cipher_suites
    if suites:
        has_1_3 = any(suite in _OF_1_3 for suite in suites)
        older = [_name_in_openssl(suite) for suite in suites if suite not in _OF_1_3]
        by_suites = (*(VERSIONS[:1] if older else ()), *(VERSIONS[1:] if has_1_3 else ()))
        versions = tuple(version for version in versions if version in by_suites)
        try:
            if older:
                context.set_ciphers(":".join(older))
        except (ssl.SSLError, ValueError):  # The latter: a NUL is in one.
            versions = ()
        if not versions:
            setting = settings.cipher_suites_setting
            raise ListenersError(
                f"{setting}={','.join(suites)}: none of them can be used",
                (setting, "ssl.enabled.protocols"),
                "leave it out, or name some such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            )
    context.minimum_version = _NUMBERS[versions[0]]
    context.maximum_version = _NUMBERS[versions[-1]]


def _name_in_openssl(suite: str) -> str:
    """Of a suite of TLSv1.2: of `TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256` it is
    `ECDHE-RSA-AES128-SHA256`."""
    name = suite.removeprefix("TLS_").removeprefix("RSA_WITH_").replace("_WITH_", "_")
    name = re.sub(r"AES_(128|256)", r"AES\1", name).replace("_CBC_", "_")
    if "CHACHA20_POLY1305" in name:
        name = name.removesuffix("_SHA256")
    return name.replace("_", "-")

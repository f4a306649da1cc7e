"""Reads key stores and trust stores, whatever their kind, into PEM.

PKCS12 is read by the library `cryptography`, JKS by `java_key_stores`, each imported when one is
met. Which of them a file is, its beginning says: Java takes both by either name, and its own
`keytool` has written PKCS12 into files called JKS since Java 9.

Kafka differs: it reads JCEKS too, where that is the type. Here it is refused with the command that
converts it. Of several keys it shows the same, be the store JKS or PKCS12 (`shown_by_java`). Here,
of PKCS12, it is the one that the library gives.

Source: Kafka's `DefaultSslEngineFactory` (`PemStore`, `FileBasedStore`).
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from warnings import catch_warnings, simplefilter

from kafkalite.config.listeners import ListenersError
from kafkalite.config.tls import PEM, Store
from kafkalite.ports.small_files import read_small_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

    from kafkalite.ports.java_key_stores import Entry

_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_CERTIFICATE: Final = "CERTIFICATE"
_LABEL: Final = re.compile(r"[A-Z0-9 ]+")
_WIDTH: Final = 64
_REPLACE: Final = "make it again, or name another"
_NO_KEY: Final = "there is no private key with its certificate in it"


class Identity(NamedTuple):
    """What one shows of oneself."""

    certificates: str
    """In PEM, one's own first."""
    key: str
    """In PEM."""
    password: str
    """Of the key; empty: it needs none."""


def read_identity(store: Store) -> Identity:
    """`ListenersError`, in one line that names the setting and the file, for what cannot be
    read."""
    if store.kind == PEM:
        blocks = _blocks(store)
        # Both of two files that are given may have them.
        certificates = list(dict.fromkeys(text for label, text in blocks if label == _CERTIFICATE))
        keys = [text for label, text in blocks if label.endswith("PRIVATE KEY")]
        if not certificates:
            _refuse(store, "there is no certificate in it", "put the chain and the key into it")
        if len(keys) != 1:
            found = "no private key" if not keys else f"{len(keys)} private keys"
            _refuse(store, f"there is {found} in it", "it needs one, beside its certificates")
        return Identity("".join(certificates), keys[0], store.key_password or "")
    data = _content(store)
    if data.startswith(_JKS):
        return _identity_of_java(data, store)
    if store.key_password not in (None, store.password):
        raise ListenersError(
            f"{store.key_password_setting} is another than {store.password_setting}: the key of "
            "a PKCS12 store has the password of the store",
            (store.key_password_setting, store.password_setting),
            "leave it out",
        )
    return _identity_of(_opened(data, store), store)


def read_trusted(store: Store) -> str:
    """All certificates, in PEM. `ListenersError` as in `read_identity`."""
    if store.kind == PEM:
        certificates = [text for label, text in _blocks(store) if label == _CERTIFICATE]
    else:
        data = _content(store)
        certificates = (
            [
                _pem(_CERTIFICATE, each.certificates[0])
                for each in _entries(data, store)
                if each.certificates
            ]
            if data.startswith(_JKS)
            else _all_of(_opened(data, store))
        )
    if not certificates:
        _refuse(store, "there is no certificate in it", "put those that are trusted into it")
    return "".join(certificates)


def _identity_of_java(data: bytes, store: Store) -> Identity:
    """All keys have to have the password, as with Java, which shows one of them."""
    from kafkalite.ports.java_key_stores import WrongPasswordError, shown_by_java, unhidden

    is_own = store.key_password is not None
    password = (store.key_password if is_own else store.password) or ""
    keys = []
    for entry in _entries(data, store):
        if entry.key is None:
            continue
        try:
            keys.append((entry, unhidden(entry.key, password)))
        except WrongPasswordError as error:
            setting = store.key_password_setting if is_own else store.password_setting
            remedy = (
                "give all keys in it the same, by keytool -keypasswd"
                if keys
                else f"let {store.key_password_setting} have the one that it was made with"
            )
            raise ListenersError(
                f"{store.setting}={store.location}: {setting} does not unlock {entry.alias!r}",
                (store.setting, store.key_password_setting),
                remedy,
            ) from error
        except ValueError as error:
            _refuse(store, str(error), _REPLACE)
    shown = shown_by_java(keys)
    if shown is None:
        _refuse(store, _NO_KEY, "put it there")
    entry, key = shown
    chain = "".join(_pem(_CERTIFICATE, each) for each in entry.certificates)
    return Identity(chain, _pem("PRIVATE KEY", key), "")


def _entries(data: bytes, store: Store) -> list[Entry]:
    from kafkalite.ports.java_key_stores import WrongPasswordError, read_java_key_store

    try:
        return read_java_key_store(data, store.password)
    except WrongPasswordError as error:
        _refuse_password(store, "the password does not open it, or it is damaged", error)
    except ValueError as error:
        _refuse(store, str(error), _REPLACE)


def _all_of(opened: PKCS12KeyAndCertificates) -> list[str]:
    from cryptography.hazmat.primitives.serialization import Encoding

    entries = [each for each in (opened.cert, *opened.additional_certs) if each is not None]
    return [each.certificate.public_bytes(Encoding.PEM).decode() for each in entries]


def _identity_of(opened: PKCS12KeyAndCertificates, store: Store) -> Identity:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    if opened.key is None or opened.cert is None:
        _refuse(store, _NO_KEY, "put it there")
    entries = _in_order(opened)
    key = opened.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity("".join(entries), key.decode(), "")


def _in_order(opened: PKCS12KeyAndCertificates) -> list[str]:
    """Its own certificate, and the ones behind it, each before the one that signed it: a file may
    have others besides, and any order."""
    from cryptography.hazmat.primitives.serialization import Encoding

    assert opened.cert is not None
    chain = [opened.cert.certificate]
    others = [each.certificate for each in opened.additional_certs]
    with catch_warnings():
        simplefilter("ignore")  # Of names that are not as they should be: Java takes them too.
        while True:
            last = chain[-1]
            signer = next((each for each in others if each.subject == last.issuer), None)
            if signer is None or last.subject == last.issuer:
                return [each.public_bytes(Encoding.PEM).decode() for each in chain]
            others.remove(signer)
            chain.append(signer)


def _opened(data: bytes, store: Store) -> PKCS12KeyAndCertificates:
    if data.startswith(_JCEKS):
        _refuse(
            store,
            "Java's JCEKS is not read",
            f"keytool -importkeystore -srckeystore {store.location} -destkeystore NEW "
            "-deststoretype PKCS12 converts it",
        )
    if b"-----BEGIN " in data:
        _refuse(store, f"it is PEM, not {store.kind}", f"say {_type_setting(store)}=PEM")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    password = None if store.password is None else store.password.encode()
    try:
        if password is not None and b"\0" in password:
            raise ValueError("no password has such a character")  # The library would panic.
        return load_pkcs12(data, password)
    except UnsupportedAlgorithm as error:
        _refuse(store, f"its key cannot be used ({error})", "use one of RSA, or of the curve P-256")
    except ValueError as error:
        if "password" in str(error).lower():
            why = "it needs a password" if password is None else "the password does not open it"
            _refuse_password(store, why, error)
        _refuse(store, f"it is no PKCS12 store ({error})", f"see {_type_setting(store)}")


def _blocks(store: Store) -> list[tuple[str, str]]:
    """The labels and blocks of a text in PEM, each block with its lines as they are to be: in a
    setting they may be one."""
    text = store.text if store.location is None else _content(store).decode("latin-1")
    found: list[tuple[str, str]] = []
    for begun in text.split("-----BEGIN ")[1:]:
        label, _, rest = begun.partition("-----")
        body, end, _ = rest.partition(f"-----END {label}-----")
        if end and _LABEL.fullmatch(label):
            found.append((label, _rewritten(label, body)))
    if not found:
        _refuse(store, "there is no PEM in it", f"see {_type_setting(store)}")
    return found


def _rewritten(label: str, body: str) -> str:
    if ":" in body:  # Headers, as OpenSSL's older keys have them when they are encrypted.
        return f"-----BEGIN {label}-----{body}-----END {label}-----\n"
    return _in_lines(label, "".join(body.split()))


def _pem(label: str, der: bytes) -> str:
    return _in_lines(label, b64encode(der).decode())


def _in_lines(label: str, packed: str) -> str:
    lines = [packed[at : at + _WIDTH] for at in range(0, len(packed), _WIDTH)]
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""))


def _content(store: Store) -> bytes:
    assert store.location is not None, "it is a text"
    try:
        return read_small_file(store.location)
    except ValueError as error:
        is_refused = isinstance(error.__cause__, PermissionError)
        raise ListenersError(
            f"{store.setting}={store.location}: {error}",
            (store.setting,),
            "let this user read it" if is_refused else "put the file there, or name another",
        ) from error


def _type_setting(store: Store) -> str:
    return f"{store.setting.removesuffix('location')}type"


def _refuse_password(store: Store, why: str, error: Exception) -> NoReturn:
    raise ListenersError(
        f"{store.setting}={store.location}: {why}",
        (store.setting, store.password_setting),
        f"let {store.password_setting} have the one that it was made with",
    ) from error


def _refuse(store: Store, why: str, remedy: str) -> NoReturn:
    where = store.setting if store.location is None else f"{store.setting}={store.location}"
    raise ListenersError(f"{where}: {why}", (store.setting,), remedy)

"""Key stores of each kind, and what a person is told of those that cannot be read."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import NoReturn

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kafkalite.config.listeners import ListenersError
from kafkalite.config.tls import Store, tls_settings
from kafkalite.config.views import BrokerConfig
from kafkalite.ports.key_stores import read_identity, read_trusted
from kafkalite.ports.tls_context import client_context, server_context
from tests import certificates
from tests.certificates import PASSWORD, Authority, authority, broker

STORES = Path(__file__).parent.parent / "data" / "key-stores"
OF_THE_KEY = "of-the-key"
OF_TRUST = "geheimnis-äß€"
OF_AN_ODD_CURVE = (
    "MIHOAgEDMIHIBgkqhkiG9w0BBwGggboEgbcwgbQwgbEGCSqGSIb3DQEHAaCBowSBoDCBnTCBmgYLKoZIhvcNAQwKAQ"
    "GggYowgYcCAQAwEwYHKoZIzj0CAQYIKoEcz1UBgi0EbTBrAgEBBCAf9ZYWjcvZmpY7AgHtAJq73ddOh9eYC+jjFafn"
    "3NTE7KFEA0IABLs/elg8E39xVlUvY95EXYnzY/ifVfUeEFJRYGWusC/PIyk+qtmbahq5/r/Y/jwAIsENY/pRP/lW0u"
    "Sz3Oe6W0k="
)
"""PKCS12 with nothing but a key of the curve SM2."""


def java_store(name: str) -> bytes:
    return (STORES / f"{name}.jks").read_bytes()


KEY_STORE, TRUST_STORE = java_store("broker"), java_store("trust")


def store_of(settings: dict[str, str]) -> Store:
    found = tls_settings(BrokerConfig.of(settings), "SSL").key_store
    assert found is not None
    return found


def of_file(path: Path, kind: str = "PKCS12", **more: str) -> dict[str, str]:
    password = {} if kind == "PEM" else {"ssl.keystore.password": PASSWORD}
    return {
        "ssl.keystore.location": str(path),
        "ssl.keystore.type": kind,
        **password,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_a_file_of_pkcs12_under_either_name(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "kafka.keystore.jks"
    file.write_bytes(broker().pkcs12())
    identity = read_identity(store_of(of_file(file, kind, ssl_key_password=PASSWORD)))
    assert identity.certificates == broker().pem
    assert identity.key == broker().key_pem()


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", "jks"])
def test_a_file_of_jks_under_either_name(kind: str) -> None:
    settings = of_file(STORES / "broker.jks", kind, ssl_key_password=OF_THE_KEY)
    identity = read_identity(store_of(settings))
    loaded = x509.load_pem_x509_certificates(identity.certificates.encode())
    assert [each.subject.rfc4514_string() for each in loaded] == ["CN=broker", "CN=authority"]
    key = load_pem_private_key(identity.key.encode(), None)
    assert key.public_key() == loaded[0].public_key()
    assert identity.password == ""
    assert max(map(len, identity.key.splitlines())) == 64


def test_a_key_of_jks_has_the_password_of_the_store_unless_told_otherwise() -> None:
    identity = read_identity(store_of(of_file(STORES / "several.jks", "JKS")))
    certificate = x509.load_pem_x509_certificate(identity.certificates.encode())
    assert certificate.subject.rfc4514_string() == "CN=kafka2"
    key = load_pem_private_key(identity.key.encode(), None)
    assert key.public_key() == certificate.public_key()


def test_keys_of_jks_that_do_not_have_one_password(tmp_path: Path) -> None:
    """As with Java, which shows none of them then. The other key comes out of another store."""
    one, several = KEY_STORE[12:-20], java_store("several")[12:-20]
    (tmp_path / "both.jks").write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\7" + several + one)
    store = store_of(of_file(tmp_path / "both.jks", "JKS"))._replace(password=None)
    store = store._replace(key_password=PASSWORD)
    with pytest.raises(ListenersError) as refused:
        read_identity(store)
    assert refused.value.message.endswith(": ssl.key.password does not unlock 'broker'")
    assert refused.value.remedy == "give all keys in it the same, by keytool -keypasswd"


def test_a_file_of_pem(tmp_path: Path) -> None:
    file = tmp_path / "store.pem"
    file.write_text(f"Bag Attributes\n{broker().key_pem()}\nsubject=/CN=broker\n{broker().pem}")
    identity = read_identity(store_of(of_file(file, "PEM")))
    assert (identity.certificates, identity.key) == (broker().pem, broker().key_pem())
    assert identity.password == ""


def test_a_block_of_pem_that_has_no_end_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "store.pem"
    torn = "-----BEGIN CERTIFICATE-----\nabcd\n-----END PRIVATE KEY-----\n"
    file.write_text(f"{torn}{broker().key_pem()}{torn}{broker().pem}{torn}")
    identity = read_identity(store_of(of_file(file, "PEM")))
    assert (identity.certificates, identity.key) == (broker().pem, broker().key_pem())


def test_pem_in_settings_may_stand_in_one_line() -> None:
    def in_one_line(text: str) -> str:
        return " ".join(text.split("\n"))

    store = store_of(
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": in_one_line(broker().key_pem("secret")),
            "ssl.keystore.certificate.chain": in_one_line(broker().pem),
            "ssl.key.password": "secret",
        }
    )
    identity = read_identity(store)
    assert identity.certificates == broker().pem
    assert identity.key.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    assert max(map(len, identity.key.splitlines())) == 64
    assert identity.password == "secret"


def test_trust_stores(tmp_path: Path) -> None:
    other = Authority("other")
    (tmp_path / "t.jks").write_bytes(authority().pkcs12())
    (tmp_path / "t.pem").write_text(authority().pem + other.pem)
    store = Store(
        "ssl.truststore.location", "JKS", str(tmp_path / "t.jks"), "", PASSWORD, "p", None, "p"
    )
    assert read_trusted(store) == authority().pem
    store = store._replace(kind="PEM", location=str(tmp_path / "t.pem"))
    assert read_trusted(store) == authority().pem + other.pem


@pytest.mark.parametrize("password", [OF_TRUST, None])
def test_trust_stores_of_jks(password: str | None) -> None:
    """Without a password too, as with Java."""
    where = "ssl.truststore.password"
    path = str(STORES / "trust.jks")
    store = Store("ssl.truststore.location", "JKS", path, "", password, where, None, where)
    loaded = x509.load_pem_x509_certificates(read_trusted(store).encode())
    assert sorted(each.subject.rfc4514_string() for each in loaded) == ["CN=authority", "CN=broker"]


def test_a_key_in_a_trust_store_of_jks_vouches_for_itself() -> None:
    """Java believes the first of its chain; the authority here is an entry of its own."""
    where = "ssl.truststore.password"
    path = str(STORES / "broker.jks")
    store = Store("ssl.truststore.location", "JKS", path, "", None, where, None, where)
    loaded = x509.load_pem_x509_certificates(read_trusted(store).encode())
    assert sorted(each.subject.rfc4514_string() for each in loaded) == ["CN=authority", "CN=broker"]


@pytest.mark.parametrize(
    ("kind", "content", "more", "says"),
    [
        ("PKCS12", None, {}, ["ssl.keystore.location={}: No such file or directory"]),
        (
            "PKCS12",
            broker().pkcs12("other"),
            {},
            [
                "ssl.keystore.location={}: the password does not open it",
                "let ssl.keystore.password have the one that it was made with",
            ],
        ),
        ("PKCS12", b"\x30\x00nonsense", {}, ["ssl.keystore.location={}: it is no PKCS12 store"]),
        (
            "PKCS12",
            broker().pkcs12(),
            {"ssl_key_password": "other"},
            ["ssl.key.password is another than ssl.keystore.password", "leave it out"],
        ),
        (
            "JKS",
            b"\xce\xce\xce\xce\x00\x00\x00\x02",
            {},
            ["Java's JCEKS is not read; keytool -importkeystore -srckeystore {} -destkeystore NEW"],
        ),
        (
            "JKS",
            KEY_STORE,
            {},
            [
                "ssl.keystore.location={}: ssl.keystore.password does not unlock 'broker'",
                "let ssl.key.password have the one that it was made with",
            ],
        ),
        (
            "JKS",
            KEY_STORE,
            {"ssl_key_password": "other"},
            ["ssl.keystore.location={}: ssl.key.password does not unlock 'broker'; let ssl.key."],
        ),
        (
            "JKS",
            java_store("several"),
            {"ssl_key_password": ""},
            ["ssl.keystore.location={}: ssl.key.password does not unlock "],
        ),
        (
            "PKCS12",
            KEY_STORE,
            {"ssl_keystore_password": ""},
            [
                "ssl.keystore.location={}: the password does not open it, or it is damaged",
                "let ssl.keystore.password have the one that it was made with",
            ],
        ),
        ("JKS", KEY_STORE[:-1], {}, ["{}: it is cut off; make it again, or name another"]),
        (
            "JKS",
            TRUST_STORE,
            {"ssl_keystore_password": OF_TRUST},
            ["{}: there is no private key with its certificate in it; put it there"],
        ),
        ("JKS", broker().pem.encode(), {}, ["it is PEM, not JKS; say ssl.keystore.type=PEM"]),
        ("JKS", authority().pkcs12(), {}, ["there is no private key with its certificate in it"]),
        ("PKCS12", b64decode(OF_AN_ODD_CURVE), {}, ["{}: its key cannot be used (Curve 1.2.156."]),
        (
            "PKCS12",
            broker().pkcs12(),
            {"ssl_keystore_password": "a\0b"},
            ["ssl.keystore.location={}: the password does not open it"],
        ),
        ("PEM", b"", {}, ["there is no PEM in it; see ssl.keystore.type"]),
        ("PEM", broker().key_pem().encode(), {}, ["there is no certificate in it"]),
        ("PEM", broker().pem.encode(), {}, ["there is no private key in it"]),
        ("PEM", (broker().key_pem() * 2 + broker().pem).encode(), {}, ["2 private keys"]),
        (
            "PEM",
            (broker().key_pem("secret") + broker().pem).encode(),
            {"ssl_key_password": "wrong"},
            [
                "ssl.keystore.location={}: ssl.key.password does not unlock its key",
                "let ssl.key.password have the one that it was made with",
            ],
        ),
        (
            "PEM",
            (broker().key_pem("secret") + broker().pem).encode(),
            {},
            ["ssl.keystore.location={}: its key needs a password; let ssl.key.password have"],
        ),
        (
            "PEM",
            (certificates.stranger().key_pem() + broker().pem).encode(),
            {},
            ["ssl.keystore.location={}: it cannot be used (key values mismatch)"],
        ),
    ],
)
def test_what_cannot_be_used(
    tmp_path: Path, kind: str, content: bytes | None, more: dict[str, str], says: list[str]
) -> None:
    file = tmp_path / "store"
    if content is not None:
        file.write_bytes(content)
    settings = tls_settings(BrokerConfig.of(of_file(file, kind, **more)), "SSL")
    with pytest.raises(ListenersError) as refused:
        server_context(settings)
    line = f"{refused.value.message}; {refused.value.remedy}"
    assert "\n" not in line
    assert "secret" not in line
    for text in says:
        assert text.replace("{}", str(file)) in line


@pytest.mark.parametrize("body", ["AAAA", "AAé="])
def test_a_trust_store_that_cannot_be_used(tmp_path: Path, body: str) -> None:
    file = tmp_path / "store"
    file.write_text(f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    settings = certificates.settings_of(
        tmp_path, ssl_truststore_location=str(file), ssl_truststore_type="PEM"
    )
    del settings["ssl.truststore.password"]
    with pytest.raises(ListenersError, match=r"ssl.truststore.location=.*: it cannot be used"):
        client_context(tls_settings(BrokerConfig.of(settings), "SSL"))


def test_a_trust_store_of_jks_with_nothing_but_a_key_without_a_certificate(tmp_path: Path) -> None:
    file = tmp_path / "key.jks"
    entry = b"\0\0\0\1" + b"\0\1a" + bytes(8) + b"\0\0\0\0" + b"\0\0\0\0"
    file.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1" + entry)
    where = "ssl.truststore.password"
    store = Store("ssl.truststore.location", "JKS", str(file), "", None, where, None, where)
    with pytest.raises(ListenersError, match="there is no certificate in it"):
        read_trusted(store)


def test_a_store_that_this_user_may_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, one may read all: so the system's word is put in its mouth."""

    def refused(path: str, mode: str) -> NoReturn:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refused)
    with pytest.raises(ListenersError, match=r"secret\.p12: Permission denied") as told:
        read_identity(store_of(of_file(tmp_path / "secret.p12")))
    assert told.value.remedy == "let this user read it"


def test_a_trust_store_that_nobody_gave_the_password_of(tmp_path: Path) -> None:
    file = tmp_path / "t.p12"
    file.write_bytes(authority().pkcs12())
    where = "ssl.truststore.password"
    store = Store("ssl.truststore.location", "PKCS12", str(file), "", None, where, None, where)
    with pytest.raises(ListenersError) as refused:
        read_trusted(store)
    assert refused.value.message == f"ssl.truststore.location={file}: it needs a password"
    assert refused.value.remedy == f"let {where} have the one that it was made with"

"""Keys and certificates for tests of TLS: an authority, and whom it vouches for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PASSWORD = "changeit"
_HOSTS = (x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))


class Party(NamedTuple):
    """Who has a key, and a certificate for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate

    @property
    def pem(self) -> str:
        """Its own certificate, and its authority's."""
        return _pem(self.certificate) + _pem(self.authority)

    @property
    def der(self) -> bytes:
        """Its own certificate."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def trusted(self) -> str:
        return _pem(self.authority)

    def key_pem(self, password: str | None = None) -> str:
        text = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _locked(password))
        return text.decode()

    def pkcs12(self, password: str = PASSWORD) -> bytes:
        return pkcs12.serialize_key_and_certificates(
            b"own", self.key, self.certificate, [self.authority], _locked(password)
        )


class Authority:
    """Vouches for others."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = _certificate(self._key, name, None, self._key, is_authority=True)
        self.pem = _pem(self.certificate)

    def party(self, name: str, *, hosts: tuple[x509.GeneralName, ...] = _HOSTS) -> Party:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(key, name, self.certificate, self._key, hosts=hosts)
        return Party(key, certificate, self.certificate)

    def pkcs12(self, password: str = PASSWORD) -> bytes:
        """A trust store. As Java's, whose entries have names."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        return pkcs12.serialize_java_truststore([entry], _locked(password))


@cache
def authority() -> Authority:
    """That of all tests which need no other."""
    return Authority()


@cache
def broker() -> Party:
    """For `localhost`."""
    return authority().party("broker")


@cache
def client() -> Party:
    return authority().party("client", hosts=())


@cache
def stranger() -> Party:
    """Whom the authority does not know."""
    return Authority("elsewhere").party("stranger")


def settings_of(folder: Path, **more: str) -> dict[str, str]:
    """Of the stores of a broker, PKCS12, which are written there; dots are written as `_`."""
    (folder / "keystore.p12").write_bytes(broker().pkcs12())
    (folder / "truststore.p12").write_bytes(authority().pkcs12())
    return {
        "ssl.keystore.location": str(folder / "keystore.p12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(folder / "truststore.p12"),
        "ssl.truststore.password": PASSWORD,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def _certificate(
    key: ec.EllipticCurvePrivateKey,
    name: str,
    issuer: x509.Certificate | None,
    signer: ec.EllipticCurvePrivateKey,
    *,
    hosts: tuple[x509.GeneralName, ...] = (),
    is_authority: bool = False,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)  # noqa: TID251  # certificates are good by the world's clock.
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if not is_authority:
        built = built.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    if hosts:
        built = built.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return built.sign(signer, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _locked(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())

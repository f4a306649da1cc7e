"""The file of `--command-config`: what it says, and what cannot be meant."""

from __future__ import annotations

import json
import ssl
from base64 import urlsafe_b64decode
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kafkalite.cli.client_security import ClientSecurity, Login, read_security
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.unsigned_tokens import UnsignedTokens
from kafkalite.testing.clock import SteerableClock
from tests import certificates

JAAS = "sasl.jaas.config=org.apache.kafka.common.security"
SASL = "security.protocol=SASL_PLAINTEXT\n"
SSL = "security.protocol=SSL\n"
SUBJECT = "unsecuredLoginStringClaim_sub"


def read(tmp_path: Path, text: str) -> ClientSecurity:
    file = tmp_path / "client.properties"
    file.write_text(text)
    return read_security(str(file))


def test_nothing_is_secured_where_nothing_says_so(tmp_path: Path) -> None:
    for text in ("", "security.protocol=plaintext\nclient.id=a\nsasl.mechanism=GSSAPI\n"):
        security = read(tmp_path, text)
        assert security == ClientSecurity()
        assert security.settings() == {"security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("text", "login"),
    [
        (
            f"sasl.mechanism=PLAIN\n{JAAS}.plain.PlainLoginModule required \\\n"
            '  username="alice" password="a\\\\"b;c";\n',
            Login("PLAIN", "alice", 'a"b;c'),
        ),
        (
            f"sasl.mechanism=SCRAM-SHA-256\n{JAAS}.scram.ScramLoginModule required "
            "password='x y' username=bob;",
            Login("SCRAM-SHA-256", "bob", "x y"),
        ),
        (
            "sasl.mechanisms=SCRAM-SHA-512\nsasl.username=bob\nsasl.password=",
            Login("SCRAM-SHA-512", "bob", ""),
        ),
    ],
)
def test_who_somebody_is(tmp_path: Path, text: str, login: Login) -> None:
    security = read(tmp_path, SASL + text)
    assert security == ClientSecurity("SASL_PLAINTEXT", None, login)
    assert security.settings() == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": login.mechanism,
        "sasl_plain_username": login.username,
        "sasl_plain_password": login.password,
    }


def test_tls_checks_the_broker_and_its_host_unless_told_otherwise(tmp_path: Path) -> None:
    for text, is_checked in (("", True), ("ssl.endpoint.identification.algorithm=\n", False)):
        security = read(tmp_path, f"security.protocol=SSL\n{text}")
        assert security.tls is not None
        assert security.tls.verify_mode is ssl.CERT_REQUIRED
        assert security.tls.check_hostname is is_checked
        assert security.settings()["ssl_check_hostname"] is is_checked


@pytest.mark.parametrize(
    "text",
    [
        "ssl.truststore.location={}/ca.pem",
        "ssl.truststore.location={}/ca.p12\nssl.truststore.password=changeit",
        "ssl.truststore.type=PEM\nssl.truststore.certificates={ca}",
        "ssl.ca.location={}/ca.pem",
    ],
)
def test_whom_a_command_believes(tmp_path: Path, text: str) -> None:
    (tmp_path / "ca.pem").write_text(certificates.authority().pem)
    (tmp_path / "ca.p12").write_bytes(certificates.authority().pkcs12())
    in_one_line = certificates.authority().pem.replace("\n", " ")
    security = read(tmp_path, SSL + text.replace("{}", str(tmp_path)).replace("{ca}", in_one_line))
    assert security.tls is not None
    (believed,) = security.tls.get_ca_certs(binary_form=True)
    assert believed == ssl.PEM_cert_to_DER_cert(certificates.authority().pem)


def test_stores_of_javas_own_format(tmp_path: Path) -> None:
    """A trust store needs no password; the key and its certificate are held against each other."""
    stores = Path(__file__).parent.parent / "data" / "key-stores"
    text = f"""
        ssl.truststore.location={stores}/trust.jks
        ssl.keystore.location={stores}/broker.jks
        ssl.keystore.password=changeit
        ssl.key.password=of-the-key
    """
    security = read(tmp_path, SSL + text)
    assert security.tls is not None
    (believed,) = security.tls.get_ca_certs()
    assert believed["subject"] == ((("commonName", "authority"),),)


@pytest.mark.parametrize(
    "text",
    [
        "ssl.keystore.location={}/own.pem\nssl.key.password=secret",
        "ssl.keystore.location={}/own.pem\nssl.keystore.password=secret",
        "ssl.keystore.location={}/own.p12\nssl.keystore.password=changeit",
        "ssl.certificate.location={}/own.pem\nssl.key.password=secret",
        "ssl.certificate.location={}/chain.pem\nssl.key.location={}/own.pem\n"
        "ssl.key.password=secret",
    ],
)
def test_what_a_command_shows(tmp_path: Path, text: str) -> None:
    own = certificates.client()
    (tmp_path / "own.pem").write_text(own.key_pem("secret") + own.pem)
    (tmp_path / "chain.pem").write_text(own.pem)
    (tmp_path / "own.p12").write_bytes(own.pkcs12())
    ca = f"ssl.ca.location={tmp_path}/ca.pem\n"
    (tmp_path / "ca.pem").write_text(certificates.authority().pem)
    security = read(tmp_path, SSL + ca + text.replace("{}", str(tmp_path)))
    assert security.tls is not None
    assert shown_by(security.tls) == own.der


def shown_by(client: ssl.SSLContext) -> bytes | None:
    """What a server gets to see that asks for a certificate."""
    server = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cadata=certificates.authority().pem
    )
    server.verify_mode = ssl.CERT_REQUIRED
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.write_text(certificates.broker().key_pem() + certificates.broker().pem)
        server.load_cert_chain(file)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(back, there, server_hostname="localhost")
    peer = server.wrap_bio(there, back, server_side=True)
    for side in (here, peer, here, peer):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return peer.getpeercert(binary_form=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("security.protocol=TLS", "allowed is PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (SASL, "sasl.mechanism is not set, which stands for GSSAPI; spoken are PLAIN, SCRAM-"),
        (
            f"{SASL}sasl.mechanism=GSSAPI",
            "sasl.mechanism=GSSAPI; spoken are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (f"{SASL}sasl.mechanism=PLAIN", "no username and password: say sasl.jaas.config="),
        (f"{SASL}sasl.mechanism=PLAIN\nsasl.username=a", "no username and password"),
        (
            f"{SASL}sasl.mechanism=OAUTHBEARER\nsasl.jaas.config=M required;",
            "nobody is named: say sasl.jaas.config=... required unsecuredLoginStringClaim_sub=",
        ),
        (
            f"{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config=M required username=a",
            "sasl.jaas.config: expected an option or ;, found the end",
        ),
        (
            f"{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config=M required; N required;",
            "sasl.jaas.config has several logins; one is taken",
        ),
        ("security.protocol=SSL\nssl.truststore.location={}/none", "none: No such file"),
        ("security.protocol=SSL\nssl.truststore.location={}/store.jceks", "keytool -importkeyst"),
        (f"{SSL}ssl.keystore.location={{}}/store.jks\nssl.keystore.password=p", "it is cut off"),
        (
            f"{SSL}ssl.keystore.location={{}}/store.jks",
            "have it, or say ssl.keystore.type=PEM",
        ),
        ("security.protocol=SSL\nssl.keystore.location={}/empty.pem", "no private key in it"),
        ("security.protocol=SSL\nssl.truststore.location={}/empty.pem", "it cannot be used"),
        (f"{SSL}ssl.ca.location={{}}/none", "ssl.ca.location={}/none: No such file"),
        (f"{SSL}ssl.enabled.protocols=TLSv9", "for configuration ssl.enabled.protocols: Unsuppor"),
        (f"{SSL}ssl.client.auth=maybe", "Invalid value maybe for configuration ssl.client.auth"),
        ("security.protocol=SSL\nssl.truststore.location={}/long.pem", "than 1048576 bytes"),
        ("security.protocol=SSL\nssl.keystore.key=x", "only for PEM, but the type is JKS; say ssl"),
        ("a=\\u00g0", "line 1: \\u without"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    (tmp_path / "store.jceks").write_bytes(b"\xce\xce\xce\xce")
    (tmp_path / "empty.pem").write_text("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
    (tmp_path / "long.pem").write_text("-----BEGIN CERTIFICATE-----\n".ljust((1 << 20) + 1))
    with pytest.raises(WrongUseError) as refused:
        read(tmp_path, text.replace("{}", str(tmp_path)))
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"--command-config {tmp_path}/client.properties: ")
    assert says.replace("{}", str(tmp_path)) in line


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(WrongUseError, match="--command-config none: No such file or directory"):
        read_security("none")


def test_an_unsigned_token(tmp_path: Path) -> None:
    text = f'{SASL}sasl.mechanism=OAUTHBEARER\nsasl.jaas.config=M required {SUBJECT}="alice";'
    settings = read(tmp_path, text).settings()
    assert settings["sasl_mechanism"] == "OAUTHBEARER"
    clock = SteerableClock(5_999)
    header, claims, signature = UnsignedTokens("alice", clock).token().split(".")
    assert (decoded(header), signature) == ({"alg": "none"}, "")
    assert decoded(claims) == {"sub": "alice", "iat": 5, "exp": 3_605}


def decoded(part: str) -> object:
    return json.loads(urlsafe_b64decode(part + "=="))

"""The file of `--command-config`: what it says, and what cannot be meant."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kafkalite.cli.client_security import ClientSecurity, Login, read_security
from kafkalite.cli.errors import WrongUseError

JAAS = "sasl.jaas.config=org.apache.kafka.common.security"
SASL = "security.protocol=SASL_PLAINTEXT\n"


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
        ("security.protocol=SSL\nssl.truststore.location={}/none", "none: No such file"),
        ("security.protocol=SSL\nssl.truststore.location={}/store.jks", "only PEM is read"),
        ("security.protocol=SSL\nssl.keystore.location={}/store.jks", "only PEM is read"),
        ("security.protocol=SSL\nssl.keystore.location={}/empty.pem", "a certificate with its key"),
        ("security.protocol=SSL\nssl.truststore.location={}/empty.pem", "no certificate"),
        ("security.protocol=SSL\nssl.truststore.location={}/long.pem", "than 1048576 bytes"),
        ("security.protocol=SSL\nssl.keystore.key=x", "keys are read from files"),
        ("a=\\u00g0", "line 1: \\u without"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    (tmp_path / "empty.pem").write_text("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
    (tmp_path / "long.pem").write_text("-----BEGIN CERTIFICATE-----\n".ljust((1 << 20) + 1))
    with pytest.raises(WrongUseError) as refused:
        read(tmp_path, text.replace("{}", str(tmp_path)))
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"--command-config {tmp_path}/client.properties: ")
    assert says in line


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(WrongUseError, match="--command-config none: No such file or directory"):
        read_security("none")

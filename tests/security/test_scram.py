"""The example of RFC 7677, and what is refused; what Kafka answers to each message stands in
`sasl-exchanges.txt`."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from typing import NamedTuple

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.security.exchange import Authenticated, Challenge, NotAuthenticatedError
from kafkalite.security.scram import NONCE_BYTES, ScramExchange, nonce_of


class Kept(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int = 4096


def kept(password: str, salt: bytes, iterations: int = 4096) -> Kept:
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return Kept(salt, stored_key, hmac.digest(salted, b"Server Key", "sha256"), iterations)


USERS = {
    "user": kept("pencil", b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")),
    "a,b=c": kept("x", b"salt"),
    "weak": kept("x", b"salt", 4095),
}
NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = f"n,,n=user,r={CLIENT_NONCE}".encode()
SERVER_FIRST = f"r={CLIENT_NONCE}{NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
FINAL = (f"c=biws,r={CLIENT_NONCE}{NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").encode()


def exchange() -> ScramExchange:
    return ScramExchange("sha256", USERS.get, NONCE)


def test_the_example_of_the_rfc() -> None:
    world = exchange()
    assert world.step(FIRST, 0) == Challenge(SERVER_FIRST)
    signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert world.step(FINAL, 0) == Authenticated(signature, "user")


def test_a_name_with_escapes() -> None:
    challenge = exchange().step(b"n,,n=a=2Cb=3Dc,r=x", 0)
    assert challenge == Challenge(f"r=x{NONCE},s=c2FsdA==,i=4096".encode())
    # To Kafka the authorization id has no escapes, so that it cannot be that name.
    with pytest.raises(NotAuthenticatedError, match="different from username"):
        exchange().step(b"n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=x", 0)


@pytest.mark.parametrize(
    "token",
    [
        *(b"", b"n,,n=,r=x", b"n,,n=user", b"n,,r=x,n=user", b"y,,n=user,r=x", b"n,,n=us=er,r=x"),
        *(b"n,,n=user,r=", b"n,,n=user,r=x,", b"n,,n=user,r=x,1=y", b"n,,n=nobody,r=x"),
        *(b"n,,n=weak,r=x", b"n,,n=user,r=x,a=b,tokenauth=TRUE", b"n,,n=us\xc3\xa9r,r=x"),
    ],
)
def test_a_first_message_that_is_refused(token: bytes) -> None:
    with pytest.raises(NotAuthenticatedError) as refused:
        exchange().step(token, 0)
    assert not refused.value.is_told


def test_nobody_comes_in_as_somebody_else() -> None:
    with pytest.raises(NotAuthenticatedError, match="an authorization id that is different") as no:
        exchange().step(b"n,a=root,n=user,r=x", 0)
    assert no.value.is_told


@pytest.mark.parametrize(
    "token",
    [
        b"",
        FINAL.replace(b"p=d", b"p=e"),
        FINAL.replace(b"$k0", b"$k1"),
        FINAL.replace(b",p=", b",x=y,q="),
        FINAL.replace(b"biws", b"eSws"),
        FINAL[:-1],
    ],
)
def test_a_last_message_that_is_refused(token: bytes) -> None:
    world = exchange()
    world.step(FIRST, 0)
    with pytest.raises(NotAuthenticatedError) as refused:
        world.step(token, 0)
    assert not refused.value.is_told


def test_a_proof_of_another_length_is_an_error_of_its_own() -> None:
    world = exchange()
    world.step(FIRST, 0)
    with pytest.raises(ProtocolError, match="another length"):
        world.step(FINAL.split(b",p=")[0] + b",p=", 0)


def test_nonces_are_written_as_kafka_writes_them() -> None:
    assert nonce_of(bytes(NONCE_BYTES)) == "0"
    # Java: new BigInteger("2").pow(130).subtract(BigInteger.ONE).toString(36)
    assert nonce_of(b"\xff" * NONCE_BYTES) == "1omfro7zwmumr3umxudzyj6scf"

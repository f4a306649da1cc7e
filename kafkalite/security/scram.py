"""SCRAM (RFC 5802, 7677): the client proves that it knows the password, and the broker that it
knows the keys made of it.

    client   n,,n=NAME,r=NONCE                        broker   r=NONCE+MORE,s=SALT,i=ITERATIONS
    client   c=biws,r=NONCE+MORE,p=PROOF              broker   v=SIGNATURE

Source: Kafka's `ScramSaslServer` and `ScramMessages`: there is no channel binding, what is reserved
(`m=`) and an extension of the last message are passed over, and a name is not normalized. Why this
is not done by a library: docs/decisions/0021-sasl.md.

Kafka differs: of several extensions in one message it makes another text, in an order of its own,
so that the proof does not hold. `tokenauth=true` names a delegation token; here there are none, so
nobody has such a one.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import new
from typing import Final, Protocol

from kafkalite.errors import ProtocolError
from kafkalite.security.exchange import (
    Authenticated,
    Challenge,
    NotAuthenticatedError,
    SaslExchange,
)

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""As `hashlib` calls them, by mechanism."""
MIN_ITERATIONS: Final = 4096
"""Of a credential with fewer neither end makes use."""
_NONCE_BITS: Final = 130
NONCE_BYTES: Final = 17
"""That random bytes for a nonce take."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"

_SAFE, _VALUE, _PRINTABLE = (
    r"[\x01-\x2b\x2d-\x3c\x3e-\x7f]",
    r"[\x01-\x2b\x2d-\x7f]+",
    r"[!-+\--~]+",
)
_NAME = rf"(?:{_SAFE}|=2C|=3D)+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*)"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,(?:m={_VALUE},)?"
    rf"(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
)
_FINAL = re.compile(
    rf"c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)


class Credential(Protocol):
    """What a broker keeps of a password: `metadata.scram`."""

    @property
    def salt(self) -> bytes:
        """What was mixed in."""
        ...

    @property
    def stored_key(self) -> bytes:
        """Of which the client proves that it can make it."""
        ...

    @property
    def server_key(self) -> bytes:
        """With which the broker signs."""
        ...

    @property
    def iterations(self) -> int:
        """How often it was hashed."""
        ...


def nonce_of(random: bytes) -> str:
    """A nonce as Kafka makes them, of `NONCE_BYTES` random bytes."""
    number = int.from_bytes(random, "big") >> (8 * NONCE_BYTES - _NONCE_BITS)
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits or "0"


class ScramExchange(SaslExchange):
    """Two tokens each way."""

    def __init__(self, hash: str, find: Callable[[str], Credential | None], nonce: str) -> None:
        """`hash` as `hashlib` calls it; `find` gives the credential of a name; `nonce` is what the
        broker adds to the client's, and was never used before."""
        self._hash = hash
        self._find = find
        self._nonce = nonce
        self._name = ""
        self._first = ""
        self._credential: Credential | None = None

    def step(self, token: bytes, now_ms: int) -> Challenge | Authenticated:
        """See `SaslExchange`."""
        message = token.decode("utf-8", "replace")
        return self._begin(message) if self._credential is None else self._end(message)

    def _begin(self, message: str) -> Challenge:
        first = _FIRST.fullmatch(message)
        if first is None:
            raise _refusal("Invalid SCRAM client first message format")
        name = first["name"].replace("=2C", ",").replace("=3D", "=")
        said = dict(part.split("=", 1) for part in first["extensions"].split(",")[1:])
        by_token = said.get("tokenauth", "").lower() == "true"
        credential = None if by_token else self._find(name)
        if credential is None:
            raise _refusal("Authentication failed: Invalid user credentials")
        if first["authorization_id"] not in (None, name):
            raise NotAuthenticatedError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise _refusal(f"{credential.iterations} iterations are less than {MIN_ITERATIONS}")
        self._name, self._credential = name, credential
        self._nonce = first["nonce"] + self._nonce
        salt = b64encode(credential.salt).decode()
        challenge = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._first = f"{first['bare']},{challenge}"
        return Challenge(challenge.encode())

    def _end(self, message: str) -> Authenticated:
        credential = self._credential
        assert credential is not None
        final = _FINAL.fullmatch(message)
        if final is None:
            raise _refusal("Invalid SCRAM client final message format")
        if final["nonce"] != self._nonce:
            raise _refusal("Invalid client nonce in the final client message.")
        binding = b64encode(b64decode(final["binding"])).decode()
        said = f"{self._first},c={binding},r={self._nonce}".encode()
        signature = hmac.digest(credential.stored_key, said, self._hash)
        proof = b64decode(final["proof"])
        if len(proof) != len(signature):
            # To Kafka an error of its own: it closes the connection without a word.
            raise ProtocolError("a proof of SCRAM has another length than its hash")
        client_key = bytes(ours ^ theirs for ours, theirs in zip(signature, proof, strict=True))
        stored_key = new(self._hash, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise _refusal("Invalid client credentials")
        answer = hmac.digest(credential.server_key, said, self._hash)
        return Authenticated(b"v=" + b64encode(answer), self._name)


def _refusal(why: str) -> NotAuthenticatedError:
    return NotAuthenticatedError(why, is_told=False)

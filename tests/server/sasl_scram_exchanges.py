"""See `sasl_exchanges.py`: those by SCRAM."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

from tests.server.sasl_talk import EXCHANGES, Exchange, Talk, exchange

GOOD = b"\0alice\0alice-secret"


class Scram:
    """A client's side of it, without what makes it safe."""

    def __init__(self, mechanism: str, password: str = "alice-secret") -> None:
        self.hash = mechanism.removeprefix("SCRAM-").lower().replace("-", "")
        self.password = password
        self.bare = b""
        self.server_first = b""

    def first(self, name: str = "alice", header: str = "n,,", more: str = "") -> bytes:
        self.bare = f"n={name},r=client-nonce{more}".encode()
        return header.encode() + self.bare

    def final(self, server_first: bytes, *, nonce: bytes | None = None, more: bytes = b"") -> bytes:
        self.server_first = server_first
        said = dict(part.split(b"=", 1) for part in server_first.split(b","))
        salted = hashlib.pbkdf2_hmac(
            self.hash, self.password.encode(), base64.b64decode(said[b"s"]), int(said[b"i"])
        )
        client_key = self._sign(salted, b"Client Key")
        without_proof = b"c=biws,r=" + (nonce or said[b"r"])
        self.message = b",".join((self.bare, server_first, without_proof))
        self.server_key = self._sign(salted, b"Server Key")
        signature = self._sign(hashlib.new(self.hash, client_key).digest(), self.message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return without_proof + more + b",p=" + base64.b64encode(proof)

    def check(self, server_final: bytes) -> None:
        """The broker knows the key too."""
        signature = self._sign(self.server_key, self.message)
        assert server_final == b"v=" + base64.b64encode(signature)

    def _sign(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self.hash).digest()


def _scram_let_in(mechanism: str) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.versions()
        await talk.handshake(mechanism)
        client = Scram(mechanism)
        challenge = await talk.authenticate(client.first())
        assert challenge is not None
        signature = await talk.authenticate(client.final(challenge))
        assert signature is not None
        client.check(signature)
        await talk.versions()

    return put


EXCHANGES["SASL", "scram_sha_256"] = _scram_let_in("SCRAM-SHA-256")
EXCHANGES["SASL", "scram_sha_512"] = _scram_let_in("SCRAM-SHA-512")
EXCHANGES["SHORT", "scram_sha_512"] = _scram_let_in("SCRAM-SHA-512")


@exchange()
async def scram_without_headers(talk: Talk) -> None:
    await talk.handshake("SCRAM-SHA-256", 0)
    client = Scram("SCRAM-SHA-256")
    challenge = await talk.raw(client.first())
    assert challenge is not None
    signature = await talk.raw(client.final(challenge))
    assert signature is not None
    client.check(signature)
    await talk.versions()


def _scram_first(token: bytes) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.handshake("SCRAM-SHA-256")
        await talk.authenticate(token)
        await talk.authenticate(b"c=biws,r=x,p=eA==")

    return put


for _name, _token in {
    "scram_of_an_unknown_user": b"n,,n=carol,r=client-nonce",
    "scram_of_a_name_with_escapes": b"n,,n=a=2Cb=3Dc,r=client-nonce",
    "scram_as_itself": b"n,a=alice,n=alice,r=client-nonce",
    "scram_as_somebody_else": b"n,a=bob,n=alice,r=client-nonce",
    "scram_with_a_binding": b"p=tls-unique,,n=alice,r=client-nonce",
    "scram_that_would_bind": b"y,,n=alice,r=client-nonce",
    "scram_with_an_extension": b"n,,n=alice,r=client-nonce,x=y",
    "scram_with_what_is_reserved": b"n,,m=x,n=alice,r=client-nonce",
    "scram_by_a_token": b"n,,n=alice,r=client-nonce,tokenauth=true",
    "scram_by_no_token": b"n,,n=alice,r=client-nonce,tokenauth=false",
    "scram_of_a_bad_escape": b"n,,n=al=ice,r=client-nonce",
    "scram_without_a_nonce": b"n,,n=alice",
    "scram_of_nothing": b"",
    "scram_of_no_text": b"n,,n=alice\xff,r=client-nonce",
    "scram_of_another_mechanism": GOOD,
}.items():
    EXCHANGES["SASL", _name] = _scram_first(_token)


def _scram_final(change: Callable[[Scram, bytes], bytes], **words: str) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.handshake("SCRAM-SHA-256")
        client = Scram("SCRAM-SHA-256", words.get("password", "alice-secret"))
        challenge = await talk.authenticate(client.first(more=words.get("more", "")))
        assert challenge is not None
        await talk.authenticate(change(client, challenge))
        await talk.versions()

    return put


_FINALS: dict[str, tuple[Callable[[Scram, bytes], bytes], dict[str, str]]] = {
    "scram_of_a_wrong_password": (lambda client, said: client.final(said), {"password": "x"}),
    "scram_of_a_wrong_nonce": (lambda client, said: client.final(said, nonce=b"client-nonce"), {}),
    "scram_of_a_short_proof": (lambda _, said: _without_proof(said) + b",p=eA==", {}),
    "scram_without_a_proof": (lambda _, said: _without_proof(said), {}),
    "scram_of_a_proof_that_is_no_base64": (lambda _, said: _without_proof(said) + b",p=e", {}),
    "scram_ends_with_nothing": (lambda _, said: b"", {}),
    "scram_ends_with_an_extension": (lambda client, said: client.final(said, more=b",x=y"), {}),
    "scram_begins_with_an_extension": (lambda client, said: client.final(said), {"more": ",x=y"}),
    "scram_begins_with_no_token": (
        lambda client, said: client.final(said),
        {"more": ",tokenauth=false"},
    ),
    "scram_binds_after_all": (
        lambda client, said: client.final(said).replace(b"biws", b"eXg="),
        {},
    ),
}
for _name, (_change, _words) in _FINALS.items():
    EXCHANGES["SASL", _name] = _scram_final(_change, **_words)


def _without_proof(challenge: bytes) -> bytes:
    return b"c=biws," + challenge.split(b",")[0]


@exchange()
async def scram_of_a_wrong_password_without_headers(talk: Talk) -> None:
    await talk.handshake("SCRAM-SHA-512", 0)
    client = Scram("SCRAM-SHA-512", "x")
    challenge = await talk.raw(client.first())
    assert challenge is not None
    await talk.raw(client.final(challenge))


@exchange("SHORT")
async def anew_scram_with_a_wrong_name(talk: Talk) -> None:
    await _scram_let_in("SCRAM-SHA-512")(talk)
    await talk.handshake("SCRAM-SHA-512")
    await talk.authenticate(Scram("SCRAM-SHA-512").first("carol"))

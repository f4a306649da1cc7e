"""See `sasl_exchanges.py`: those by OAUTHBEARER."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from tests.server.sasl_talk import EXCHANGES, Exchange, Talk, exchange

GOOD = b"\0alice\0alice-secret"


def jwt(claims: Mapping[str, object] | str, *, alg: str = "none", signature: str = "") -> str:
    def coded(value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return f"{coded({'alg': alg})}.{coded(claims)}.{signature}"


def bearer(token: str, header: str = "n,,", more: str = "", scheme: str = "Bearer") -> bytes:
    return f"{header}\x01auth={scheme} {token}\x01{more}\x01".encode()


async def oauth(talk: Talk, other: Mapping[str, object], **words: str) -> bytes | None:
    """Authenticate with a token that is good for a day, apart from `other` claims; None leaves one
    out."""
    now_s = talk.wire.now_ms() / 1000
    claims: dict[str, object] = {"sub": "alice", "iat": -10, "exp": 86_400, **other}
    said = {
        name: now_s + value if name in ("iat", "exp") and isinstance(value, (int, float)) else value
        for name, value in claims.items()
        if value is not None
    }
    return await talk.authenticate(bearer(jwt(said), **words))


@exchange()
async def oauthbearer(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER")
    await oauth(talk, {})
    await talk.versions()


@exchange()
async def oauthbearer_is_told_why_not(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER")
    await oauth(talk, {"exp": -10, "iat": -20})
    await talk.authenticate(b"\x01")
    await talk.versions()


@exchange()
async def oauthbearer_is_told_why_not_and_tries_again(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER")
    await oauth(talk, {"exp": -10, "iat": -20})
    await oauth(talk, {"exp": 3600})
    await talk.versions()


@exchange()
async def oauthbearer_that_begins_with_the_end(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER")
    await talk.authenticate(b"\x01")


@exchange()
async def oauthbearer_without_headers(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER", 0)
    now_s = talk.wire.now_ms() // 1000
    await talk.raw(bearer(jwt({"sub": "alice", "exp": now_s - 1})))
    await talk.raw(b"\x01")


def _oauth(claims: Mapping[str, object], **words: str) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.handshake("OAUTHBEARER")
        await oauth(talk, claims, **words)

    return put


_CLAIMS: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "oauthbearer_without_a_name": ({"sub": None}, {}),
    "oauthbearer_of_a_blank_name": ({"sub": " "}, {}),
    "oauthbearer_of_a_number": ({"sub": 5}, {}),
    "oauthbearer_without_an_end": ({"exp": None}, {}),
    "oauthbearer_without_a_begin": ({"iat": None, "exp": 7200}, {}),
    "oauthbearer_that_began_later": ({"iat": 600}, {}),
    "oauthbearer_that_ends_as_it_begins": ({"iat": -5, "exp": -5}, {}),
    "oauthbearer_that_lasts_for_ages": ({"exp": 1e13}, {}),
    "oauthbearer_of_strange_scopes": ({"scope": 5}, {}),
    "oauthbearer_as_itself": ({}, {"header": "n,a=alice,"}),
    "oauthbearer_as_somebody_else": ({}, {"header": "n,a=bob,"}),
    "oauthbearer_that_binds": ({}, {"header": "p=x,,"}),
    "oauthbearer_with_extensions": ({}, {"more": "a=b\x01c=d e\x01"}),
    "oauthbearer_with_bad_extensions": ({}, {"more": "1=b\x01"}),
    "oauthbearer_in_another_case": ({}, {"scheme": "bEARER"}),
}
for _name, (_claims, _words) in _CLAIMS.items():
    EXCHANGES["SASL", _name] = _oauth(_claims, **_words)


def _oauth_token(token: bytes) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.handshake("OAUTHBEARER")
        await talk.authenticate(token)

    return put


_LATER = {"sub": "alice", "exp": 4_102_444_800}
for _name, _token in {
    "oauthbearer_of_nothing": b"",
    "oauthbearer_of_another_mechanism": GOOD,
    "oauthbearer_of_no_token": b"n,,\x01\x01",
    "oauthbearer_of_a_text": bearer("text"),
    "oauthbearer_of_a_token_of_two_parts": bearer(jwt(_LATER).rstrip(".")),
    "oauthbearer_of_two_dots": bearer("e30..e30"),
    "oauthbearer_of_no_base64": bearer("a.b.c"),
    "oauthbearer_of_no_json": bearer(jwt("no json")),
    "oauthbearer_of_a_list": bearer(jwt("[1]")),
    "oauthbearer_of_a_cut_off_object": bearer(jwt('{"sub":')),
    "oauthbearer_that_is_signed": bearer(jwt(_LATER, signature="c2ln")),
    "oauthbearer_of_an_algorithm": bearer(jwt(_LATER, alg="HS256")),
    "oauthbearer_without_an_algorithm": bearer(f"e30.{jwt(_LATER).split('.')[1]}."),
    "oauthbearer_of_another_scheme": bearer(jwt(_LATER), scheme="Basic"),
    "oauthbearer_of_no_scheme": bearer(jwt(_LATER), scheme="-"),
    "oauthbearer_twice": bearer(jwt(_LATER), more="auth=Bearer x\x01"),
}.items():
    EXCHANGES["SASL", _name] = _oauth_token(_token)

_OF_STRICT: dict[str, dict[str, object]] = {
    "oauthbearer_of_its_scopes": {"name": "a", "may": ["read", "write", "more"]},
    "oauthbearer_of_one_scope": {"name": "a", "may": "read"},
    "oauthbearer_of_scopes_in_a_text": {"name": "a", "may": "read write"},
    "oauthbearer_of_no_scope": {"name": "a"},
    "oauthbearer_of_another_claim": {"may": ["read", "write"]},
    "oauthbearer_of_a_clock_that_is_late": {"name": "a", "may": ["read", "write"], "iat": 500},
}
for _name, _more in _OF_STRICT.items():
    EXCHANGES["STRICT", _name] = _oauth(_more)


@exchange("SHORT")
async def a_token_ends_sooner(talk: Talk) -> None:
    await talk.handshake("OAUTHBEARER")
    await oauth(talk, {"exp": 0.4})
    await talk.wire.wait_ms(450)
    await talk.versions()

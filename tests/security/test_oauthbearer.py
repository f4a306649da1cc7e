"""Tokens without a signature, and what their options ask of them; what Kafka answers to each
message stands in `sasl-exchanges.txt`."""

from __future__ import annotations

import base64
import json

import pytest

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.listeners import ListenersError
from kafkalite.config.sasl import OAUTHBEARER_MODULE
from kafkalite.errors import ProtocolError
from kafkalite.security.exchange import Authenticated, Challenge, NotAuthenticatedError
from kafkalite.security.oauthbearer import OAuthBearerExchange, UnsecuredValidator

NOW_S = 1_000
INVALID = Challenge(b'{"status":"invalid_token"}')
GOOD = {"sub": "alice", "exp": NOW_S + 60}


def validator(**options: str) -> UnsecuredValidator:
    named = {f"unsecuredValidator{key}": value for key, value in options.items()}
    return UnsecuredValidator(JaasEntry(OAUTHBEARER_MODULE, "required", named), "here")


def coded(data: object) -> str:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def step(claims: object, header: object = {"alg": "none"}, **options: str) -> object:
    token = f"n,,\x01auth=Bearer {coded(header)}.{coded(claims)}.\x01\x01"
    return OAuthBearerExchange(validator(**options)).step(token.encode(), NOW_S * 1000)


def test_a_token_that_holds() -> None:
    assert step(GOOD) == Authenticated(b"", "alice", (NOW_S + 60) * 1000)
    assert step({**GOOD, "exp": 1060.0005}) == Authenticated(b"", "alice", 1_060_001)


@pytest.mark.parametrize(
    "claims",
    [
        *({**GOOD, "exp": NOW_S}, {**GOOD, "exp": NOW_S, "iat": NOW_S}, {"sub": "alice"}),
        *({**GOOD, "exp": "1060"}, {**GOOD, "exp": [1060]}, {**GOOD, "exp": True}),
        *({**GOOD, "iat": NOW_S + 0.001}, {**GOOD, "iat": "1"}, {**GOOD, "iat": NOW_S + 60}),
        *(
            {**GOOD, "sub": " "},
            {**GOOD, "sub": 5},
            {**GOOD, "sub": ["alice"]},
            {**GOOD, "sub": {}},
        ),
        *({**GOOD, "scope": 5}, [], "text", 5, None, b"{", b"{'sub':1}", b"\xff", b'{"exp":NaN}'),
        *(b"[" * 100_000, b'{"exp":1' + b"0" * 5_000 + b"}", b"", {**GOOD, "exp": -(10**400)}),
    ],
)
def test_a_token_that_does_not(claims: object) -> None:
    assert step(claims) == INVALID


def test_claims_as_jackson_reads_them() -> None:
    assert step({**GOOD, "sub": True}) == Authenticated(b"", "true", 1_060_000)
    assert step({**GOOD, "sub": None}) == Authenticated(b"", "null", 1_060_000)
    behind = json.dumps(GOOD).encode() + b" and more"
    assert step(b"\xef\xbb\xbf " + behind) == Authenticated(b"", "alice", 1_060_000)
    half = step({**GOOD, "sub": "a\ud800"})
    assert half == Authenticated(b"", "a?", 1_060_000), "it could not be sent"
    far = step({**GOOD, "exp": 10**400})
    assert far == Authenticated(b"", "alice", 2**63 - 1)


@pytest.mark.parametrize("header", [{"alg": "HS256"}, {"alg": 5}, {"alg": None}])
def test_an_algorithm_that_is_none_of_ours(header: object) -> None:
    assert step(GOOD, header) == INVALID


@pytest.mark.parametrize("header", [{}, [], b""])
def test_no_algorithm_at_all(header: object) -> None:
    with pytest.raises(ProtocolError, match="no algorithm"):
        step(GOOD, header)


def test_scopes_that_are_required() -> None:
    wanted = {"RequiredScope": " read  write "}
    missing = Challenge(b'{"status":"insufficient_scope", "scope":"[read, write]"}')
    good = Authenticated(b"", "alice", 1_060_000)
    assert step({**GOOD, "scope": [" write ", "read", "", 5, 1.5, False, {}]}, **wanted) == good
    assert step({**GOOD, "scope": "read write"}, **wanted) == missing
    assert step(GOOD, **wanted) == missing
    assert step({**GOOD, "may": "read"}, RequiredScope="read", ScopeClaimName=" may ") == good


def test_a_clock_that_may_be_late() -> None:
    late = {**GOOD, "exp": NOW_S - 4, "iat": NOW_S - 9}
    assert step(late) == INVALID
    assert step(late, AllowableClockSkewMs="5000") == Authenticated(b"", "alice", 996_000)


def test_a_token_that_was_over_when_it_was_issued() -> None:
    """With a clock that may be late, either alone would hold."""
    late = {"AllowableClockSkewMs": "10000"}
    assert isinstance(step({**GOOD, "iat": NOW_S + 1, "exp": NOW_S + 2}, **late), Authenticated)
    assert step({**GOOD, "iat": NOW_S + 2, "exp": NOW_S + 2}, **late) == INVALID


def test_a_name_of_another_claim() -> None:
    claims = {**GOOD, "name": "bob"}
    assert step(claims, PrincipalClaimName="name") == Authenticated(b"", "bob", 1_060_000)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"AllowableClockSkewMs": "-1"}, "-1 is no whole number of milliseconds"),
        ({"AllowableClockSkewMs": "2147483648"}, "here: unsecuredValidatorAllowableClockSkewMs"),
        ({"RequiredScope": 'a "b"'}, 'RequiredScope: Invalid scope value: "b"'),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], says: str) -> None:
    with pytest.raises(ListenersError) as refused:
        validator(**options)
    assert says in refused.value.message


@pytest.mark.parametrize(
    "message",
    [
        *(b"", b"\x01", b"n,,\x01\x01", b"n,,\x01auth=Bearer\x01\x01", b"n,,\x01x=y\x01\x01"),
        *(
            b"y,,\x01auth=Bearer x\x01\x01",
            b"n,,\x01auth=Bearer x\x01",
            b"n,,auth=Bearer x\x01\x01",
        ),
    ],
)
def test_a_message_that_is_none(message: bytes) -> None:
    with pytest.raises(NotAuthenticatedError) as refused:
        OAuthBearerExchange(validator()).step(message, 0)
    assert not refused.value.is_told


@pytest.mark.parametrize("token", ["x", "a.b", "a..b", "a.b.c.d", "a+.b.", "a.b.c", "YQ.YQ.YQ"])
def test_a_token_that_is_none(token: str) -> None:
    message = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    assert OAuthBearerExchange(validator()).step(message, 0) == INVALID


def test_a_client_that_has_heard_it_is_told_so() -> None:
    exchange = OAuthBearerExchange(validator())
    assert exchange.step(b"n,,\x01auth=Bearer x\x01\x01", 0) == INVALID
    with pytest.raises(NotAuthenticatedError) as refused:
        exchange.step(b"\x01", 0)
    assert str(refused.value) == '{"status":"invalid_token"}'
    assert refused.value.is_told


def test_nobody_comes_in_as_somebody_else() -> None:
    token = f"{coded({'alg': 'none'})}.{coded(GOOD)}."
    for header, is_in in (("n,a=alice,", True), ("n,a=bob,", False)):
        message = f"{header}\x01auth=bearer  {token}\x01x=y z\x01\x01".encode()
        exchange = OAuthBearerExchange(validator())
        if is_in:
            assert exchange.step(message, 0) == Authenticated(b"", "alice", 1_060_000)
        else:
            with pytest.raises(NotAuthenticatedError, match=r"id \(bob\) that is different"):
                exchange.step(message, 0)


def test_another_scheme_is_an_error_of_its_own() -> None:
    with pytest.raises(ProtocolError, match="the scheme Basic"):
        OAuthBearerExchange(validator()).step(b"n,,\x01auth=Basic x\x01\x01", 0)

r"""OAUTHBEARER (RFC 7628): the client shows a token, whose signature nobody looks at, since it has
none: for tests, as Kafka says of its own.

    client   n,,^Aauth=Bearer TOKEN^A^A               ^A is a byte of 1
    broker   nothing, or {"status":"invalid_token"}, upon which the client says ^A, and is refused

A token is three texts in base64 with dots between them: `{"alg":"none"}`, the claims, and nothing.

Source: Kafka's `OAuthBearerSaslServer`, `OAuthBearerClientInitialResponse` and, for the tokens,
`OAuthBearerUnsecuredValidatorCallbackHandler` with its JAAS options `unsecuredValidator...`.

Missing: signed tokens (`sasl.oauthbearer.jwks.endpoint.url`); the setting that asks for them is
refused (`config.sasl`).
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.listeners import ListenersError
from kafkalite.errors import ProtocolError
from kafkalite.security.exchange import (
    Authenticated,
    Challenge,
    NotAuthenticatedError,
    SaslExchange,
)

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIRS = "(?P<pairs>(?:[A-Za-z]+=[!-~ \t\r\n]+\x01)*)"
_CLIENT_FIRST = re.compile(rf"n,(?:a=(?P<authorization_id>{_NAME}))?,{chr(1)}{_PAIRS}{chr(1)}")
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9_-]*")
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_BLANKS = "".join(map(chr, range(0x21)))
"""What Java's `String.trim` takes away."""
_END: Final = b"\x01"
_NO_ALGORITHM: Final = "none"
_OPTION: Final = "unsecuredValidator"
_MAX_INT: Final = 2**31 - 1
_MAX_LONG: Final = 2**63 - 1

Claim = str | int | float | list[str]


class _RefusedTokenError(Exception):
    """With what the client is told of it."""


class Token(NamedTuple):
    """One that holds."""

    name: str
    expires_at_ms: int
    """Since 1970."""


class UnsecuredValidator:
    """What a login of JAAS asks of tokens."""

    def __init__(self, login: JaasEntry, setting: str) -> None:
        """`setting` is where the login stands. `ListenersError` for options that make no sense."""
        options = {key.removeprefix(_OPTION): text for key, text in login.options.items()}
        self._name_claim = options.get("PrincipalClaimName", "").strip(_BLANKS) or "sub"
        self._scope_claim = options.get("ScopeClaimName", "").strip(_BLANKS) or "scope"
        self._scopes = [each for each in options.get("RequiredScope", "").split(" ") if each]
        for scope in self._scopes:
            if not _SCOPE.fullmatch(scope):
                _refuse(setting, "RequiredScope", f"Invalid scope value: {scope}")
        skew = options.get("AllowableClockSkewMs", "").strip(_BLANKS) or "0"
        if not re.fullmatch(r"\+?[0-9]{1,10}", skew, re.ASCII) or int(skew) > _MAX_INT:
            _refuse(setting, "AllowableClockSkewMs", f"{skew} is no whole number of milliseconds")
        self._skew_ms = int(skew)

    def validated(self, token: str, now_ms: int) -> Token:
        """What it says. `_RefusedTokenError` with the answer, where it does not hold."""
        claims = _claims(token)
        scopes = _scopes(claims, self._scope_claim)
        expires_s = _number(claims, "exp")
        name = claims.get(self._name_claim)
        issued_s = _number(claims, "iat")
        if expires_s is None or not isinstance(name, str) or not name.strip(_BLANKS):
            _invalid()
        if issued_s is not None and 1000.0 * issued_s > now_ms + self._skew_ms:
            _invalid()
        if now_ms - self._skew_ms >= 1000.0 * expires_s:
            _invalid()
        if issued_s is not None and expires_s <= issued_s:
            _invalid()
        if not scopes.issuperset(self._scopes):
            wanted = f"[{', '.join(self._scopes)}]"
            raise _RefusedTokenError(f'{{"status":"insufficient_scope", "scope":"{wanted}"}}')
        # Half of a surrogate pair may be escaped in JSON; Java sends it as a question mark.
        return Token(name.encode("utf-8", "replace").decode(), _whole_ms(expires_s))


class OAuthBearerExchange(SaslExchange):
    """One token; or one more message, by which the client says that it has heard the refusal."""

    def __init__(self, validator: UnsecuredValidator) -> None:
        self._validator = validator
        self._refusal: str | None = None

    def step(self, token: bytes, now_ms: int) -> Challenge | Authenticated:
        """See `SaslExchange`."""
        if token == _END and self._refusal is not None:
            raise NotAuthenticatedError(self._refusal)
        self._refusal = None
        authorization_id, shown = _shown(token.decode("utf-8", "replace"))
        try:
            found = self._validator.validated(shown, now_ms)
        except _RefusedTokenError as refused:
            self._refusal = str(refused)
            return Challenge(self._refusal.encode())
        if authorization_id not in ("", found.name):
            raise NotAuthenticatedError(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) "
                f"that is different from the token's principal name ({found.name})"
            )
        return Authenticated(b"", found.name, found.expires_at_ms)


def _shown(message: str) -> tuple[str, str]:
    """The authorization id, and the token. Extensions are taken as they are, and mean nothing."""
    first = _CLIENT_FIRST.fullmatch(message)
    if first is None:
        raise _failure("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.split("=", 1) for pair in first["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None:
        raise _failure("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if auth["scheme"].lower() != "bearer":
        # Kafka would say so, but fails over its own message.
        raise ProtocolError(f"OAUTHBEARER with the scheme {auth['scheme']}")
    return first["authorization_id"] or "", auth["token"]


def _claims(token: str) -> dict[str, Claim]:
    parts = token.split(".")
    if ".." in token or len(parts) != 3:
        _invalid()
    header, claims = _object(parts[0]), _object(parts[1])
    if "alg" not in header:
        # To Kafka an error of its own: it closes the connection without a word.
        raise ProtocolError("a token of OAUTHBEARER names no algorithm")
    if header["alg"] != _NO_ALGORITHM or parts[2]:
        _invalid()
    return claims


def _object(text: str) -> dict[str, Claim]:
    """Like Jackson, which stops behind the first value, and to which what is no object has no
    members."""
    if not _BASE64.fullmatch(text) or len(text) % 4 == 1:
        _invalid()
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        decoded = data.decode("utf-8-sig").lstrip(" \t\r\n")
        if not decoded:
            return {}
        found, _ = json.JSONDecoder(parse_constant=_no_constant).raw_decode(decoded)
    except (ValueError, RecursionError):
        _invalid()
    if not isinstance(found, dict):
        return {}
    return {name: _claim(value) for name, value in found.items()}


def _claim(value: object) -> Claim:
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return _as_text(value)


def _as_text(value: object) -> str:
    """As Jackson's `asText`."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return ""


def _number(claims: Mapping[str, Claim], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, (str, list)):
        _invalid()
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _scopes(claims: Mapping[str, Claim], name: str) -> set[str]:
    """A text is one, whatever blanks are in it."""
    value = claims.get(name, [])
    if isinstance(value, (int, float)):
        _invalid()
    texts = [value] if isinstance(value, str) else value
    return {stripped for text in texts if (stripped := text.strip(_BLANKS))}


def _whole_ms(seconds: float) -> int:
    ms = seconds * 1000
    return _MAX_LONG if ms >= _MAX_LONG else math.floor(ms + 0.5)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _invalid() -> NoReturn:
    raise _RefusedTokenError('{"status":"invalid_token"}') from None


def _failure(why: str) -> NotAuthenticatedError:
    return NotAuthenticatedError(why, is_told=False)


def _refuse(setting: str, option: str, why: str) -> NoReturn:
    raise ListenersError(
        f"{setting}: {_OPTION}{option}: {why}", (setting,), "mend it, or leave it out"
    )

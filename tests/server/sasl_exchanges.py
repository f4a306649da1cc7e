"""What clients say on a listener with SASL, and what they are answered: each exchange is put to the
real Kafka and to kafkalite, and both have to answer as `sasl-exchanges.txt` has it, byte for byte
but for what is random or tells the time.

The broker has the users alice and bob, whose passwords are `alice-secret` and `bob-secret`, for
PLAIN and SCRAM, on the listeners SASL (all mechanisms), SHORT (sessions of `SESSION_MS`), SMALL
(tokens of at most `SMALL_BYTES`), STRICT (OAUTHBEARER that requires a scope) and PLAINTEXT.
"""

from __future__ import annotations

from typing import cast

from kafkalite.protocol.headers import Buffer, request_frame
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest
from kafkalite.protocol.messages.list_groups import ListGroupsRequest
from kafkalite.protocol.messages.metadata import MetadataRequest
from kafkalite.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.server import sasl_oauthbearer_exchanges, sasl_scram_exchanges
from tests.server.sasl_talk import EXCHANGES, SESSION_MS, Exchange, Talk, exchange

SMALL_BYTES = 200
DELAY_MS = 20
"""Until a failed connection is closed."""
SALT = b"the-salt-of-alice"
ITERATIONS = 4096
_NEIGHBOURS = (sasl_oauthbearer_exchanges, sasl_scram_exchanges)
"""Which put theirs beside these."""
ALL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
GOOD = b"\0alice\0alice-secret"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_LOGINS = {
    "plain": f'{_PLAIN} required user_alice="alice-secret" user_bob="bob-secret" user_empty="";',
    "scram-sha-256": f"{_SCRAM} required;",
    "scram-sha-512": f"{_SCRAM} required;",
    # What a broker would say of itself, without which Kafka does not start.
    "oauthbearer": f'{_OAUTH} required unsecuredLoginStringClaim_sub="broker";',
}
_OF_STRICT = (
    f'{_OAUTH} required unsecuredLoginStringClaim_sub="broker"'
    ' unsecuredValidatorRequiredScope="read write"'
    ' unsecuredValidatorPrincipalClaimName="name" unsecuredValidatorScopeClaimName="may"'
    ' unsecuredValidatorAllowableClockSkewMs="600000";'
)
SETTINGS = {
    "listener.security.protocol.map": ",".join(
        ("PLAINTEXT:PLAINTEXT", *(f"{name}:SASL_PLAINTEXT" for name in ("SASL", "SHORT", "SMALL")))
    )
    + ",STRICT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join(ALL),
    "connection.failed.authentication.delay.ms": str(DELAY_MS),
    **{
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": login
        for listener in ("sasl", "short", "small")
        for mechanism, login in _LOGINS.items()
    },
    "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
    "listener.name.short.scram-sha-512.connections.max.reauth.ms": "3600000",
    "listener.name.small.sasl.server.max.receive.size": str(SMALL_BYTES),
    "listener.name.strict.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.strict.oauthbearer.sasl.jaas.config": _OF_STRICT,
}
"""All that the broker needs besides `listeners`, and the credentials of SCRAM."""


@exchange()
async def plain(talk: Talk) -> None:
    await talk.versions()
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.versions()
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN", 0)
    await talk.authenticate(GOOD, 0)
    await talk.ask(ListGroupsRequest(), 0, note="is served")


@exchange()
async def plain_in_each_version(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD, 0)
    await talk.versions()


@exchange()
async def plain_in_the_newest_version(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD, 2)
    await talk.versions()


@exchange()
async def plain_without_headers(talk: Talk) -> None:
    await talk.versions(0)
    await talk.handshake("PLAIN", 0)
    await talk.raw(GOOD)
    await talk.versions()


def _plain_refused(token: bytes) -> Exchange:
    async def put(talk: Talk) -> None:
        await talk.handshake("PLAIN")
        await talk.authenticate(token)
        await talk.versions()

    return put


for _name, _token in {
    "plain_of_a_wrong_password": b"\0alice\0bob-secret",
    "plain_of_an_unknown_user": b"\0carol\0carol-secret",
    "plain_of_an_empty_password": b"\0empty\0",
    "plain_without_a_name": b"\0\0alice-secret",
    "plain_of_two_parts": b"alice\0alice-secret",
    "plain_of_one_part": b"alice",
    "plain_of_four_parts": b"\0alice\0alice-secret\0",
    "plain_of_five_parts": b"\0alice\0alice\0secret\0",
    "plain_of_nothing": b"",
    "plain_as_itself": b"alice\0alice\0alice-secret",
    "plain_as_somebody_else": b"bob\0alice\0alice-secret",
    "plain_as_somebody_else_with_a_wrong_password": b"bob\0alice\0x",
    "plain_of_no_text": b"\0alice\xff\0alice-secret",
}.items():
    EXCHANGES["SASL", _name] = _plain_refused(_token)


@exchange()
async def plain_of_a_wrong_password_in_version_0(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(b"\0alice\0x", 0)
    await talk.versions()


@exchange()
async def plain_of_a_wrong_password_without_headers(talk: Talk) -> None:
    await talk.handshake("PLAIN", 0)
    await talk.raw(b"\0alice\0x")


@exchange()
async def another_mechanism(talk: Talk) -> None:
    await talk.handshake("GSSAPI")
    await talk.handshake("PLAIN")


@exchange()
async def another_mechanism_in_version_0(talk: Talk) -> None:
    await talk.handshake("plain", 0)
    await talk.handshake("PLAIN")


@exchange()
async def another_request_first(talk: Talk) -> None:
    await talk.ask(MetadataRequest(topics=[]), 1)


@exchange()
async def another_request_after_versions(talk: Talk) -> None:
    await talk.versions()
    await talk.ask(MetadataRequest(topics=[]), 1)


@exchange()
async def another_request_after_the_handshake(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.ask(MetadataRequest(topics=[]), 12)
    await talk.authenticate(GOOD)


@exchange()
async def versions_after_the_handshake(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.versions()


@exchange()
async def two_handshakes(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.handshake("PLAIN")


@exchange()
async def a_handshake_where_a_token_is_due(talk: Talk) -> None:
    await talk.handshake("PLAIN", 0)
    await talk.handshake("PLAIN", 0)


@exchange()
async def no_handshake(talk: Talk) -> None:
    await talk.versions()
    await talk.authenticate(GOOD)


@exchange()
async def unknown_versions(talk: Talk) -> None:
    await talk.versions(0)
    await talk.raw(bytes.fromhex("0011 0002 00000007 0001 61 0005") + b"PLAIN", "SASL_HANDSHAKE v2")


@exchange()
async def an_unknown_version_of_authenticate(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.raw(
        bytes.fromhex("0024 0003 00000007 0001 61 00 14") + GOOD + b"\0", "AUTHENTICATE v3"
    )


@exchange()
async def an_unknown_api(talk: Talk) -> None:
    await talk.raw(bytes.fromhex("0fff 0000 00000007 ffff"), "API 4095")


@exchange()
async def no_header(talk: Talk) -> None:
    await talk.raw(b"\0\x12", "two bytes")


@exchange()
async def nothing(talk: Talk) -> None:
    await talk.raw(b"", "no bytes")


@exchange()
async def no_header_where_a_token_is_due(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.raw(GOOD, "a bare token")


@exchange()
async def a_token_that_is_cut_off(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.raw(bytes.fromhex("0024 0001 00000007 0001 61 00000014") + GOOD[:-1], "cut off")


@exchange()
async def versions_twice(talk: Talk) -> None:
    await talk.versions()
    await talk.versions()


@exchange()
async def versions_that_are_unknown_and_then_known(talk: Talk) -> None:
    await talk.raw(bytes.fromhex("0012 0063 00000007 0001 61 00"), "API_VERSIONS v99")
    await talk.versions(4, client_software_name="-")
    await talk.versions(4)
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)


@exchange()
async def versions_of_another_node(talk: Talk) -> None:
    await talk.versions(5, cluster_id="other", node_id=17)
    await talk.handshake("PLAIN")


@exchange()
async def in_pieces(talk: Talk) -> None:
    request = SaslHandshakeRequest(mechanism="PLAIN")
    parts = request_frame(request, 1, correlation_id=7, client_id="exchange")
    for byte in b"".join(cast("list[Buffer]", parts)):
        await talk.wire.send(bytes((byte,)))
    await talk.hear(request, 1)
    authenticate = SaslAuthenticateRequest(auth_bytes=GOOD)
    parts = request_frame(authenticate, 1, correlation_id=7, client_id="exchange")
    for byte in b"".join(cast("list[Buffer]", parts)):
        await talk.wire.send(bytes((byte,)))
    await talk.hear(authenticate, 1)
    await talk.versions()


@exchange()
async def all_at_once(talk: Talk) -> None:
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    authenticate = SaslAuthenticateRequest(auth_bytes=GOOD)
    await talk.send(handshake, 1)
    await talk.send(authenticate, 1)
    await talk.send(ApiVersionsRequest(), 0)
    await talk.hear(handshake, 1)
    await talk.hear(authenticate, 1)
    await talk.hear(ApiVersionsRequest(), 0)


@exchange("SMALL")
async def a_token_that_is_too_large(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD.ljust(SMALL_BYTES))


@exchange("SMALL")
async def a_request_that_is_larger_once_inside(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.versions(3, client_software_name="n" * SMALL_BYTES)


@exchange("SMALL")
async def a_negative_length(talk: Talk) -> None:
    await talk.wire.send(b"\xff\xff\xff\xff")
    talk.write("-1 bytes", None if (await talk.wire.answer()) is None else "an answer")


@exchange("STRICT")
async def of_one_mechanism(talk: Talk) -> None:
    await talk.handshake("PLAIN")


@exchange("PLAINTEXT")
async def where_nobody_is_asked(talk: Talk) -> None:
    await talk.handshake("PLAIN", 0)
    await talk.handshake("PLAIN", 1)
    for version in (0, 1, 2):
        await talk.authenticate(GOOD, version)
    await talk.versions()


@exchange("SHORT")
async def anew(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.versions()
    await talk.handshake("PLAIN")
    await talk.versions()


@exchange("SHORT")
async def anew_without_headers(talk: Talk) -> None:
    await talk.handshake("PLAIN", 0)
    await talk.raw(GOOD)
    await talk.handshake("PLAIN", 0)
    await talk.raw(GOOD)
    await talk.versions()


@exchange("SHORT")
async def anew_as_somebody_else(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN")
    await talk.authenticate(b"\0bob\0bob-secret")
    await talk.versions()


@exchange("SHORT")
async def anew_by_another_mechanism(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("SCRAM-SHA-256")
    await talk.authenticate(b"n,,n=alice,r=client-nonce")


@exchange("SHORT")
async def anew_by_no_mechanism(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("GSSAPI")
    await talk.versions()


@exchange("SHORT")
async def anew_with_a_wrong_password(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN")
    await talk.authenticate(b"\0alice\0x")


@exchange("SHORT")
async def anew_with_a_token_that_is_too_large(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN")
    await talk.wire.send((600_000).to_bytes(4, "big"))
    talk.write("600000 bytes", None if (await talk.wire.answer()) is None else "an answer")


@exchange("SHORT")
async def another_request_in_between(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.handshake("PLAIN")
    await talk.versions()


@exchange("SHORT")
async def too_late(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.versions()
    await talk.wire.wait_ms(SESSION_MS + 50)
    await talk.versions()


@exchange("SHORT")
async def too_late_and_anew(talk: Talk) -> None:
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.wire.wait_ms(SESSION_MS + 50)
    await talk.handshake("PLAIN")
    await talk.authenticate(GOOD)
    await talk.versions()

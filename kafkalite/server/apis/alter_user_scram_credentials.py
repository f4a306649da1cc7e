"""AlterUserScramCredentials: SCRAM credentials of users, set and deleted (KIP-554).

Versions: 0.

The client salts and hashes the password, and the controller keeps what checks it. Answered when
every live broker knows the new credentials: a client that was told may log in anywhere. Whoever is
logged in stays so.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from kafkalite.controller.events import (
    AlterScramCredentials,
    ScramCredentialsAltered,
    ScramDeletion,
    ScramUpsertion,
)
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    min_version=0,
    max_version=0,
    by_controller=True,
)


def handle(ctx: RequestContext, request: AlterUserScramCredentialsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    parked, on_reply = parked_answer(ctx.services, answer=_answer, refuse=partial(refuse, request))
    event = AlterScramCredentials(
        token=None,
        deletions=tuple(ScramDeletion(each.name, each.mechanism) for each in request.deletions),
        upsertions=tuple(
            ScramUpsertion(
                each.name,
                each.mechanism,
                each.iterations,
                bytes(each.salt),
                bytes(each.salted_password),
            )
            for each in request.upsertions
        ),
    )
    ctx.services.controller.submit(event, on_reply)
    return parked


def refuse(
    request: AlterUserScramCredentialsRequest, code: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    """The same code for every user."""
    deleted = (each.name for each in request.deletions)
    set_anew = (each.name for each in request.upsertions)
    users = dict.fromkeys(chain(deleted, set_anew))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user, error_code=code, error_message=message or None
            )
            for user in users
        ]
    )


def _answer(altered: ScramCredentialsAltered) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=each.user, error_code=each.code, error_message=each.message
            )
            for each in altered.users
        ]
    )

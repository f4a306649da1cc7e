"""SCRAM credentials of any Kafka cluster: asked for, set and deleted. What kafka-python tells of
refusals are messages, where there are any, and no codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from kafkalite.cli.errors import CommandError
from kafkalite.cli.patience import when_ready
from kafkalite.cli.refusals import Refusal
from kafkalite.cli.wire_request import Answer, WireRequest, newest_version
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkalite.protocol.schema import Request, Response

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

R = TypeVar("R", bound=Response)
Alteration = ScramCredentialDeletion | ScramCredentialUpsertion
_NOT_KNOWN: Final = Refusal(ErrorCode.UNSUPPORTED_VERSION)


def described_users(admin: KafkaAdminClient) -> Mapping[str, list[CredentialInfo]]:
    """All users that have any. `CommandError` when they are not told."""
    request = DescribeUserScramCredentialsRequest(users=None)
    answer = _answer(admin, request, DescribeUserScramCredentialsResponse)
    if answer is None or answer.error_code:
        refusal = Refusal(answer.error_code, answer.error_message) if answer else _NOT_KNOWN
        raise CommandError(str(refusal))
    return {each.user: each.credential_infos for each in answer.results}


def alter_credential(admin: KafkaAdminClient, alteration: Alteration) -> Refusal | None:
    """One of one user."""
    request = AlterUserScramCredentialsRequest()
    if isinstance(alteration, ScramCredentialDeletion):
        request.deletions = [alteration]
    else:
        request.upsertions = [alteration]

    def alter() -> Refusal | None:
        answer = _answer(admin, request, AlterUserScramCredentialsResponse)
        if answer is None:
            return _NOT_KNOWN
        (result,) = answer.results
        return Refusal(result.error_code, result.error_message) if result.error_code else None

    return when_ready(admin, alter, lambda refusal: refusal.code if refusal else 0)


def _answer(admin: KafkaAdminClient, request: Request, kind: type[R]) -> R | None:
    """None: the broker does not know the request."""
    version = newest_version(admin, type(request))
    if version is None:
        return None
    wire = WireRequest(request, version, kind)

    async def ask() -> Answer[R]:
        answer: Answer[R] = await admin._manager.send(wire)
        return answer

    answer: Answer[R] = admin._manager.run(ask)
    return answer.message

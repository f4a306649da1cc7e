"""JoinGroup: a consumer becomes a member of a classic group, or says that it still is.

Versions: 0 to 9.
- 1 a rebalance timeout of its own. 4 a new member is sent back once, with the id that it then joins
  by (KIP-394). 5 static members (KIP-345). 6 flexible. 7 the protocol's type in the answer.
- 8 a reason, for the log (KIP-800). 9 a leader may be told not to assign anew (KIP-814).

Answered when the group is ready: all members have come, or their time is over.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    GroupProtocol,
    Joined,
    JoinGroup,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_one, client_host
from kafkalite.server.purgatory import FOREVER_MS, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import Uuid, format_uuid

API = Api(ApiKey.JOIN_GROUP, JoinGroupRequest, JoinGroupResponse, min_version=0, max_version=9)

_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_WITH_MEMBER_ID_REQUIRED = 4
_FIRST_VERSION_WITH_NULL_PROTOCOL = 7
_FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT = 9


def _in_groups(uuid: Uuid) -> str:
    """As Java prints one. The module `uuid` does so too; it takes 2 ms of a start."""
    digits = uuid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def handle(ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse | Parked:
    """Ask the group's coordinator, and wait for the others."""
    version = ctx.version
    uuid = ctx.services.entropy.uuid()
    event = JoinGroup(
        token=None,
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocols=tuple(GroupProtocol(each.name, each.metadata) for each in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms
            if version >= _FIRST_VERSION_WITH_REBALANCE_TIMEOUT
            else None
        ),
        client_id=ctx.client_id or "",
        client_host=client_host(ctx),
        new_member_uuid=_in_groups(uuid),
        requires_known_member_id=version >= _FIRST_VERSION_WITH_MEMBER_ID_REQUIRED,
        supports_skipping_assignment=version >= _FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT,
        new_member_id=format_uuid(uuid),
        reason=request.reason or "",
    )
    question = Question(request.group_id, event, Joined)
    groups = ctx.services.groups
    groups.heard(ctx.connection, request.group_id, request.member_id)

    def answer(joined: Joined | KafkaError) -> JoinGroupResponse:
        if isinstance(joined, KafkaError):
            joined = Joined(joined.code, NO_MEMBER_ID)
        groups.heard(ctx.connection, request.group_id, joined.member_id)
        protocol = joined.protocol
        if protocol is None and version < _FIRST_VERSION_WITH_NULL_PROTOCOL:
            protocol = ""
        return JoinGroupResponse(
            error_code=joined.code,
            generation_id=joined.generation,
            protocol_type=joined.protocol_type,
            protocol_name=protocol,
            leader=joined.leader,
            skip_assignment=joined.skip_assignment,
            member_id=joined.member_id,
            members=[
                JoinGroupResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    metadata=member.metadata,
                )
                for member in joined.members
            ],
        )

    return ask_one(ctx, question, answer, timeout_ms=FOREVER_MS)


def refuse(request: JoinGroupRequest, code: ErrorCode, message: str) -> JoinGroupResponse:
    """No generation, and no member id, as Kafka has it. The protocol is empty and not null: every
    version can carry that."""
    return JoinGroupResponse(error_code=code, protocol_name="", member_id="")

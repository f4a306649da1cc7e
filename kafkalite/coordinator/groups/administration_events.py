"""What tools ask a partition's group coordinator about groups, and what it answers. See
`classic/events.py` for tokens.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.errors import ErrorCode

# Requests.


class ListGroups(NamedTuple):
    """Answered by `GroupsListed`: this partition's share of the answer."""

    token: Hashable
    states: tuple[str, ...] = ()
    """In any case, with spaces around or not; empty: all."""
    types: tuple[str, ...] = ()
    """In any case; empty: all. Types that do not exist match nothing."""


class DescribeGroups(NamedTuple):
    """Answered by `GroupsDescribed`."""

    token: Hashable
    group_ids: tuple[str, ...]


class DeleteGroups(NamedTuple):
    """Answered by `GroupsDeleted`."""

    token: Hashable
    group_ids: tuple[str, ...]


AdministrationEvent = ListGroups | DescribeGroups | DeleteGroups


# Replies.


class ListedGroup(NamedTuple):
    """A group, in Kafka's words for states (`Stable`) and types (`classic`)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupsListed(NamedTuple):
    """Those that pass the filters."""

    groups: tuple[ListedGroup, ...]


class DescribedMember(NamedTuple):
    """A member. Without `metadata` unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    """A group; one that does not exist is `Dead`, with GROUP_ID_NOT_FOUND, which versions before 6
    are not told."""

    group_id: str
    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class GroupsDescribed(NamedTuple):
    """In the order of the request."""

    groups: tuple[DescribedGroup, ...]


class DeletedGroup(NamedTuple):
    """NONE, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP."""

    group_id: str
    code: ErrorCode
    message: str | None = None


class GroupsDeleted(NamedTuple):
    """In the order of the request; those named twice come once."""

    groups: tuple[DeletedGroup, ...]


AdministrationBody = GroupsListed | GroupsDescribed | GroupsDeleted

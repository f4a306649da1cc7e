"""Which connection each member of a group was last heard on, so that it can be evicted the moment
that drops (`kafkalite.group.evict.on.disconnect`). Kafka has no such thing: there, a member that
dies without a word is missed for its session timeout.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

MAX_MEMBERS: Final = 10_000
"""On one connection; of more, the first that was heard of is not evicted with it."""


class HeardOn(Protocol):
    """What is asked of a connection."""

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call that once, when it is closed."""


class HeardMember(NamedTuple):
    """A member, by its group."""

    group_id: str
    member_id: str


class MemberConnections:
    """Of all members that this broker hears of."""

    def __init__(self, evict: Callable[[HeardMember], None]) -> None:
        self._evict = evict
        self._heard_on: dict[HeardMember, HeardOn] = {}
        self._members: dict[HeardOn, dict[HeardMember, None]] = {}

    def heard(self, connection: HeardOn, member: HeardMember) -> None:
        """It was on this one, and on no other from now on."""
        before = self._heard_on.get(member)
        if before is connection:
            return
        if before is not None:
            self.left(member)
        members = self._members.get(connection)
        if members is None:
            members = self._members[connection] = {}
            connection.when_closed(partial(self._closed, connection))
        if len(members) >= MAX_MEMBERS:
            self.left(next(iter(members)))
        members[member] = None
        self._heard_on[member] = connection

    def left(self, member: HeardMember) -> None:
        """It said goodbye."""
        connection = self._heard_on.pop(member, None)
        if connection is not None:
            self._members[connection].pop(member, None)

    def _closed(self, connection: HeardOn) -> None:
        members = self._members[connection]
        while members:  # An eviction may complete what another member has asked elsewhere.
            member = next(iter(members))
            self.left(member)
            self._evict(member)
        del self._members[connection]

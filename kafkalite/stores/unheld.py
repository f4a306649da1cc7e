"""What the metadata log says and the image does not keep, as a snapshot has to keep it all the
same: for the Kafka that goes on with the folder, or a later release of this.

Of what was set anew or removed since, the newest counts, so that it does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, assert_never

from kafkalite.metadata.changes import Change, UnheldChange, UnknownChange
from kafkalite.metadata.snapshot import is_held
from kafkalite.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    ZkMigrationStateRecord,
)


class _Effect(NamedTuple):
    key: Hashable
    """Of what it says something of, together with its kind."""
    removes: bool = False


class UnheldChanges:
    """Those of one log, in its order."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, UnheldChange] = {}
        self._unknown: list[UnknownChange] = []
        """Nobody can tell which of them a later one has undone."""

    def __iter__(self) -> Iterator[Change]:
        yield from self._newest.values()
        yield from self._unknown

    def see(self, change: Change) -> None:
        """The log has this too."""
        if is_held(change):
            return
        if isinstance(change, UnknownChange):
            self._unknown.append(change)
            return
        assert isinstance(change, UnheldChange)
        key, removes = _effect_of(change)
        self._newest.pop(key, None)
        if not removes:
            self._newest[key] = change


def _effect_of(change: UnheldChange) -> _Effect:
    match change:
        case AccessControlEntryRecord():
            return _Effect(("acl", bytes(change.id)))
        case RemoveAccessControlEntryRecord():
            return _Effect(("acl", bytes(change.id)), removes=True)
        case ClientQuotaRecord():
            entity = frozenset((part.entity_type, part.entity_name) for part in change.entity)
            return _Effect(("quota", entity, change.key), removes=change.remove)
        case DelegationTokenRecord():
            return _Effect(("token", change.token_id))
        case RemoveDelegationTokenRecord():
            return _Effect(("token", change.token_id), removes=True)
        case ZkMigrationStateRecord():
            return _Effect("migration")
        case _:
            assert_never(change)

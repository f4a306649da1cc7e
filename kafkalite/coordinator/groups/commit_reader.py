"""Commits of a log, read by hand: nearly all that a long one has, and all of one shape.

    key     1 (int16) | group, topic (each: length as int16, text) | partition (int32)
    value   4 (int16) | offset (int64) | leader epoch (int32) | metadata (length + 1, text)
            | time of the commit (int64) | tags: 0 for none, or 1, 0, 16 and the topic's id

`log_record` stays the model: it reads whatever has another shape, and the tests hold both together.
"""

from __future__ import annotations

from struct import Struct
from sys import intern
from typing import Final

from kafkalite.coordinator.groups.log_record import Buffer, Record, decode_record
from kafkalite.protocol.messages.classic_group_records import OffsetCommitKey, OffsetCommitValue
from kafkalite.protocol.record_frames import decode_coordinator_value
from kafkalite.types import NO_PRODUCER_ID, ZERO_UUID, ProducerId, Uuid

MOST_NAMES = 10_000
"""Of groups and topics, that are remembered: a log has each of them again and again."""
MOST_KEY_BYTES = 1_000
"""Of a key whose names are remembered: those of groups may be long, and would fill memory."""

_KIND: Final = b"\0\1"
_VERSION: Final = 4
_HEAD: Final = Struct(">hqiB")
"""Version, offset, leader epoch, length of the metadata and 1."""
_TIME_AND_NO_TAGS: Final = Struct(">qB")
_TIME_AND_TOPIC: Final = Struct(">q3s16s")
_ONE_TAG: Final = bytes((1, 0, 16))
_HEAD_SIZE: Final = _HEAD.size
_TIME_SIZE: Final = 8
_TAG_END: Final = _TIME_SIZE + len(_ONE_TAG)
_NO_TAGS_SIZE: Final = _TIME_AND_NO_TAGS.size
_TOPIC_SIZE: Final = _TIME_AND_TOPIC.size
_PARTITION: Final = Struct(">i")
_ONE_BYTE: Final = 0x80
"""From here on a varint has more."""

_new = object.__new__


def is_commit(key: Buffer | None, value: Buffer | None) -> bool:
    """Whether a record is a commit of the shape above, which can be read. Others may turn out to be
    none, and leave what an earlier one says. A tombstone is none: it
    takes back what open transactions have committed, too."""
    if key is None or value is None or key[: len(_KIND)] != _KIND:
        return False
    return _metadata_end(value) > 0


def _metadata_end(value: Buffer) -> int:
    """Where the metadata ends in a value of the shape above; 0: it has another one."""
    size = len(value)
    if size < _HEAD_SIZE or value[0] or value[1] != _VERSION:
        return 0
    length = value[_HEAD_SIZE - 1]
    end = _HEAD_SIZE + length - 1
    left = size - end
    if left == _TOPIC_SIZE:
        is_known = value[end + _TIME_SIZE : end + _TAG_END] == _ONE_TAG
    else:
        is_known = left == _NO_TAGS_SIZE and not value[-1]
    return end if is_known and 0 < length < _ONE_BYTE else 0


class _Names:
    """What a key says before its partition."""

    __slots__ = ("group", "topic", "topic_id")

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = intern(topic)
        self.topic_id = ZERO_UUID
        """As the last commit had it: the next one will, and needs no bytes of its own."""


class CommitReader:
    """Reads one log."""

    def __init__(self) -> None:
        self._names: dict[bytes, _Names] = {}
        """By all of the key but its partition."""

    def read(
        self, key: bytes, value: Buffer | None, producer_id: ProducerId = NO_PRODUCER_ID
    ) -> Record:
        """As `decode_record`, of any record."""
        names = self._names.get(key[: -_PARTITION.size])
        if names is None:
            record = decode_record(key, value, producer_id)
            # Those of before 0.9 have values of another kind.
            is_usual = key[: len(_KIND)] == _KIND and len(key) <= MOST_KEY_BYTES
            if is_usual and isinstance(record.key, OffsetCommitKey):
                self._remember(key, record.key)
            return record
        commit_key = _new(OffsetCommitKey)
        commit_key.group = names.group
        commit_key.topic = names.topic
        (commit_key.partition,) = _PARTITION.unpack_from(key, len(key) - _PARTITION.size)
        commit_key.unknown_tagged_fields = ()
        commit = None if value is None else _read_value(value, names)
        return Record(commit_key, commit, producer_id)

    def _remember(self, key: bytes, names: OffsetCommitKey) -> None:
        if len(self._names) >= MOST_NAMES:
            self._names.clear()
        self._names[key[: -_PARTITION.size]] = _Names(names.group, names.topic)


def _read_value(value: Buffer, names: _Names) -> OffsetCommitValue:
    end = _metadata_end(value)
    if not end:
        return decode_coordinator_value(OffsetCommitValue, value)
    _, offset, leader_epoch, _ = _HEAD.unpack_from(value)
    topic_id: Uuid = ZERO_UUID
    if len(value) - end == _TOPIC_SIZE:
        timestamp, _, topic_id = _TIME_AND_TOPIC.unpack_from(value, end)
    else:
        timestamp, _ = _TIME_AND_NO_TAGS.unpack_from(value, end)
    if topic_id == names.topic_id:
        topic_id = names.topic_id
    else:
        names.topic_id = topic_id
    commit = _new(OffsetCommitValue)
    commit.offset = offset
    commit.leader_epoch = leader_epoch
    commit.metadata = str(value[_HEAD_SIZE:end], "utf-8", "replace")
    commit.commit_timestamp = timestamp
    commit.expire_timestamp = -1
    commit.topic_id = topic_id
    commit.unknown_tagged_fields = ()
    return commit

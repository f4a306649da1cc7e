"""Commits of a log, read by hand: nearly all that a long one has, and all of one shape.

    key     1 (int16) | group, topic (each: length as int16, text) | partition (int32)
    value   4 (int16) | offset (int64) | leader epoch (int32) | metadata (length + 1, text)
            | time of the commit (int64) | tags: 0 for none, or 1, 0, 16 and the topic's id

`log_record` stays the model: it reads whatever has another shape, and the tests hold both together.
"""

from __future__ import annotations

from struct import Struct, error
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
_PARTITION: Final = Struct(">i")
_ONE_BYTE: Final = 0x80
"""From here on a varint has more."""

_new = object.__new__


def is_commit(key: Buffer | None, value: Buffer | None) -> bool:
    """Whether a record is a commit, by its kind and a version that is known. A tombstone is none:
    it takes back what open transactions have committed, too."""
    if key is None or value is None or key[: len(_KIND)] != _KIND:
        return False
    return len(value) > 1 and value[0] == 0 and value[1] <= _VERSION


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
            if isinstance(record.key, OffsetCommitKey) and len(key) <= MOST_KEY_BYTES:
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
    topic_id: Uuid = ZERO_UUID
    try:
        version, offset, leader_epoch, length = _HEAD.unpack_from(value)
        begin = _HEAD.size
        end = begin + length - 1
        if len(value) - end == _TIME_AND_TOPIC.size:
            timestamp, tags, topic_id = _TIME_AND_TOPIC.unpack_from(value, end)
            is_known = tags == _ONE_TAG
        else:
            timestamp, tags = _TIME_AND_NO_TAGS.unpack_from(value, end)
            is_known = not tags and len(value) - end == _TIME_AND_NO_TAGS.size
    except error:
        return decode_coordinator_value(OffsetCommitValue, value)
    if not is_known or version != _VERSION or not 0 < length < _ONE_BYTE:
        return decode_coordinator_value(OffsetCommitValue, value)
    if topic_id == names.topic_id:
        topic_id = names.topic_id
    else:
        names.topic_id = topic_id
    commit = _new(OffsetCommitValue)
    commit.offset = offset
    commit.leader_epoch = leader_epoch
    commit.metadata = str(value[begin:end], "utf-8", "replace")
    commit.commit_timestamp = timestamp
    commit.expire_timestamp = -1
    commit.topic_id = topic_id
    commit.unknown_tagged_fields = ()
    return commit

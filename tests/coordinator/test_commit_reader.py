"""Commits read by hand are what the declarations make of the same bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafkalite.coordinator.groups import commit_reader
from kafkalite.coordinator.groups.commit_reader import CommitReader, is_commit
from kafkalite.coordinator.groups.log_record import Record, decode_record, encode_record
from kafkalite.errors import ProtocolError
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.protocol.record_frames import encode_coordinator_value
from kafkalite.types import ZERO_UUID, ProducerId, Uuid

TOPIC_ID = Uuid(bytes(range(16)))
VALUE = struct.Struct(">hqiB")
TIME = struct.pack(">q", 1_700_000_000_000)
TAGGED = bytes((1, 0, 16)) + TOPIC_ID


def commit(
    group: str = "g", topic: str = "t", partition: int = 0, value: OffsetCommitValue | None = None
) -> Record:
    return Record(OffsetCommitKey(group=group, topic=topic, partition=partition), value)


KEY = encode_record(commit()).key


def head(version: int = 4, length: int = 1) -> bytes:
    return VALUE.pack(version, 5, 7, length)


def judged(read: CommitReader | None, key: bytes, value: bytes | None) -> Record | str:
    """What it is read as: by hand, or by the model; or why it is refused."""
    try:
        if read is None:
            return decode_record(key, value, ProducerId(3))
        view = None if value is None else memoryview(value)
        return read.read(key, view, ProducerId(3))
    except ProtocolError as error:
        return str(error)


def agree(key: bytes, value: bytes | None) -> Record | str:
    """Of a name that is not known yet, and of one that is."""
    reader = CommitReader()
    expected = judged(None, key, value)
    assert judged(reader, key, value) == expected
    judged(reader, key, None)
    assert judged(reader, key, value) == expected
    return expected


texts = some.text(some.characters(codec="utf-8"), max_size=200)


@given(
    texts,
    texts,
    some.integers(-(2**31), 2**31 - 1),
    some.builds(
        OffsetCommitValue,
        offset=some.integers(-(2**63), 2**63 - 1),
        leader_epoch=some.integers(-(2**31), 2**31 - 1),
        metadata=texts,
        commit_timestamp=some.integers(-(2**63), 2**63 - 1),
        expire_timestamp=some.sampled_from([-1, 0, 2**62]),
        topic_id=some.sampled_from([ZERO_UUID, TOPIC_ID]),
    ),
    some.integers(0, 4),
)
def test_every_commit_of_every_version(
    group: str, topic: str, partition: int, value: OffsetCommitValue, version: int
) -> None:
    key = encode_record(commit(group, topic, partition)).key
    record = agree(key, encode_coordinator_value(value, version))
    assert isinstance(record, Record)
    assert record.key == OffsetCommitKey(group=group, topic=topic, partition=partition)
    assert agree(key, None) == record._replace(value=None)


ODD = {
    "no tags": head() + TIME + b"\0",
    "a topic": head() + TIME + TAGGED,
    "text that is no UTF-8": head(length=3) + b"\xc3\x28" + TIME + TAGGED,
    "another tag": head() + TIME + bytes((1, 5, 16)) + TOPIC_ID,
    "a topic of another size": head() + TIME + bytes((1, 0, 17)) + TOPIC_ID,
    "two tags": head() + TIME + b"\2\0\x10" + TOPIC_ID + b"\5\0",
    "one tag where none is": head() + TIME + b"\1",
    "no text at all": head(length=0) + TIME + b"\0",
    "no text at all, and the size of an empty one": head(length=0) + bytes(8),
    "no text at all, and the size of an empty one with a topic": head(length=0) + TIME[1:] + TAGGED,
    "longer text": head(length=0x83) + b"\1" + b"m" * 130 + TIME + TAGGED,
    "longer text that is none": head(length=0x83) + b"\1" + TIME + TAGGED,
    "an earlier version of that size": head(version=3) + TIME + TAGGED,
    "a later version": head(version=5) + TIME + TAGGED,
    "bytes left over": head() + TIME + TAGGED + b"\0",
    "bytes left over after no tags": head() + TIME + b"\0\0",
    "a byte missing": head() + TIME + TAGGED[:-1],
    "a head": head(),
    "half a head": head()[:9],
    "nothing": b"",
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_values(value: bytes) -> None:
    agree(KEY, value)


@given(some.binary(max_size=60), some.binary(max_size=60))
def test_bytes_that_are_no_commit(key: bytes, value: bytes) -> None:
    agree(key, value)
    agree(KEY[:2] + key, value)
    agree(KEY, head()[:2] + value)


def test_other_records_between_them() -> None:
    reader = CommitReader()
    group = Record(GroupMetadataKey(group="g"), GroupMetadataValue(protocol_type="consumer"))
    records = [commit(value=OffsetCommitValue(offset=n)) for n in range(3)]
    written = [*records, group, commit(partition=7), *records, group]
    assert [reader.read(*encode_record(each)) for each in written] == written


def test_a_key_is_not_taken_for_the_longer_one_that_begins_like_it() -> None:
    """Four bytes of a topic's name would be a partition."""
    reader = CommitReader()
    reader.read(KEY, None)
    with pytest.raises(ProtocolError):
        reader.read(KEY + KEY[-4:], None)


def test_commits_of_one_topic_share_its_name_and_its_id() -> None:
    """Else a million of them would take a hundred megabytes more."""
    reader = CommitReader()
    read = [
        reader.read(
            *encode_record(commit("g", "topic", n, OffsetCommitValue(offset=n, topic_id=TOPIC_ID)))
        )
        for n in range(3)
    ]
    # The first one is read by the declarations.
    (key, value), (other_key, other_value) = (read[1][:2], read[2][:2])
    assert isinstance(key, OffsetCommitKey)
    assert isinstance(other_key, OffsetCommitKey)
    assert key.topic is other_key.topic
    assert isinstance(value, OffsetCommitValue)
    assert isinstance(other_value, OffsetCommitValue)
    assert value.topic_id is other_value.topic_id


def test_groups_share_the_name_of_a_topic_that_they_read() -> None:
    """There may be many of them, and each has names of its own."""
    reader, keys = CommitReader(), []
    for group in ("a", "b"):
        for partition in range(2):
            record = reader.read(*encode_record(commit(group, "a topic", partition)))
        assert isinstance(record.key, OffsetCommitKey)
        keys.append(record.key)
    assert keys[0].topic is keys[1].topic


def test_so_many_names_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may name any number of groups, and long ones."""
    monkeypatch.setattr(commit_reader, "MOST_NAMES", 2)
    reader = CommitReader()
    long = "g" * commit_reader.MOST_KEY_BYTES
    written = [commit(group) for group in ("a", "b", "a", "c", "b", long)]
    assert [reader.read(*encode_record(each)) for each in written] == written
    assert {names.group for names in reader._names.values()} == {"c", "b"}


def test_what_is_seen_to_be_a_commit() -> None:
    whole = (head() + TIME + b"\0", head(length=3) + b"ab" + TIME + TAGGED)
    for value in whole:
        assert is_commit(KEY, value)
        assert is_commit(KEY, memoryview(value))
        assert not is_commit(KEY, value[:-1]), "it cannot be read, and hides no other"
        assert not is_commit(b"\0\0" + KEY[2:], value)
        assert not is_commit(b"\0\2" + KEY[2:], value)
        assert not is_commit(None, value)
    assert not is_commit(KEY, None)
    assert not is_commit(KEY, head(5)), "of a later release, which is passed by"
    assert not is_commit(KEY, b"\1\4")
    assert not is_commit(KEY, b"\0")
    assert not is_commit(b"", whole[0])


@pytest.mark.parametrize("value", [*ODD.values(), *(odd[:-1] for odd in ODD.values())])
def test_what_is_seen_to_be_a_commit_can_be_read(value: bytes) -> None:
    assert not is_commit(KEY, value) or isinstance(agree(KEY, value), Record)


def test_a_commit_of_before_0_9_is_not_read_as_one_of_today() -> None:
    """Its value has versions of its own."""
    reader, key = CommitReader(), b"\0\0" + KEY[2:]
    reader.read(key, None)
    with pytest.raises(ProtocolError):
        reader.read(key, head() + TIME + b"\0")

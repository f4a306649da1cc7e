from __future__ import annotations

from kafkalite.metadata.changes import UnknownChange, decode_change, encode_change
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.snapshot import changes_of, is_held
from kafkalite.protocol.messages.metadata_records import DelegationTokenRecord
from tests.metadata.sample_changes import credential, golden_changes, image_of


def test_an_image_comes_back_from_its_changes() -> None:
    image = image_of(*golden_changes(), credential("alice"), credential("alice", 2))
    again = image_of(*changes_of(image))
    assert again == image
    assert list(again.topics) == list(image.topics)


def test_its_changes_survive_their_bytes() -> None:
    image = image_of(*golden_changes(), credential("alice"))
    assert image_of(*(decode_change(encode_change(c)) for c in changes_of(image))) == image


def test_an_empty_image_has_none() -> None:
    assert list(changes_of(MetadataImage())) == []


def test_what_an_image_does_not_hold_is_known() -> None:
    assert all(is_held(change) for change in golden_changes())
    assert not is_held(UnknownChange(99, b""))
    assert not is_held(DelegationTokenRecord(token_id="t"))

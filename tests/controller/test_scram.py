from __future__ import annotations

import base64

import pytest

from kafkalite.controller.events import (
    AdoptCredentials,
    AlterScramCredentials,
    ScramDeletion,
    ScramUpsertion,
    UserAltered,
)
from kafkalite.controller.scram import (
    adopt_credentials,
    alter_scram_credentials,
    derived_credential,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.scram import ScramMechanism
from kafkalite.protocol.messages.metadata_records import (
    FeatureLevelRecord,
    RemoveUserScramCredentialRecord,
)
from tests.metadata.sample_changes import credential, image_of

SHA_256, SHA_512 = ScramMechanism
TWICE = "A user credential cannot be altered twice in the same request"


def level(number: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=number)


IMAGE = image_of(level(33), credential("alice"), credential("alice", 2), credential("bob"))


def upsertion(
    user: str = "new",
    mechanism: int = SHA_256,
    iterations: int = 4096,
    *,
    salted_password: bytes = b"p",
) -> ScramUpsertion:
    return ScramUpsertion(user, mechanism, iterations, b"salt", salted_password)


def decided(
    *asked: ScramDeletion | ScramUpsertion,
    image: MetadataImage = IMAGE,
    over_zookeeper: bool = False,
) -> tuple[list[Change], list[UserAltered]]:
    event = AlterScramCredentials(
        None,
        deletions=tuple(each for each in asked if isinstance(each, ScramDeletion)),
        upsertions=tuple(each for each in asked if isinstance(each, ScramUpsertion)),
    )
    records, altered = alter_scram_credentials(
        image, event, ControllerSettings(over_zookeeper=over_zookeeper)
    )
    return records, list(altered.users)


def test_a_credential_is_what_rfc_5802_makes_of_a_salted_password() -> None:
    """Of the exchange that stands in RFC 7677: password `pencil`, 4096 iterations."""
    made = derived_credential(
        SHA_256,
        salt=base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="),
        salted_password=bytes.fromhex(
            "c4a49510323ab4f952cac1fa99441939e78ea74d6be81ddf7096e87513dc615d"
        ),
        iterations=4096,
    )
    assert base64.b64encode(made.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(made.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert made.iterations == 4096


def test_a_credential_is_set_and_set_anew() -> None:
    for user in ("new", "alice"):
        records, altered = decided(upsertion(user, SHA_512, 16_384))
        made = derived_credential(SHA_512, salt=b"salt", salted_password=b"p", iterations=16_384)
        assert image_of(*records).scram_credential(SHA_512, user) == made
        assert len(made.stored_key) == len(made.server_key) == 64
        assert altered == [UserAltered(user)]


def test_a_credential_is_deleted_of_one_mechanism() -> None:
    records, altered = decided(ScramDeletion("alice", SHA_512))
    assert records == [RemoveUserScramCredentialRecord(name="alice", mechanism=2)]
    assert altered == [UserAltered("alice")]


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion("", 9, 1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion("u", 3, 1), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16_385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (upsertion(salted_password=b""), ErrorCode.UNKNOWN_SERVER_ERROR, None),
        (
            ScramDeletion("bob", SHA_512),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
        (ScramDeletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (ScramDeletion("bob", 9), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
    ],
    ids=repr,
)
def test_what_is_refused_leaves_the_others_as_they_are_asked(
    asked: ScramDeletion | ScramUpsertion, code: ErrorCode, message: str | None
) -> None:
    records, altered = decided(asked, ScramDeletion("alice", SHA_256))
    assert records == [RemoveUserScramCredentialRecord(name="alice", mechanism=1)]
    assert altered == [UserAltered("alice"), UserAltered(asked.user, code, message)]


@pytest.mark.parametrize(
    "asked",
    [
        [upsertion("bob"), upsertion("bob", SHA_512)],
        [upsertion("bob"), upsertion("bob"), upsertion("bob")],
        [ScramDeletion("bob", SHA_256), upsertion("bob", SHA_512), upsertion("bob")],
        [upsertion("bob"), upsertion("bob", SHA_256, 1)],
        [ScramDeletion("alice", SHA_256), ScramDeletion("alice", SHA_512)],
    ],
)
def test_a_user_is_altered_once_in_a_request(asked: list[ScramDeletion | ScramUpsertion]) -> None:
    records, altered = decided(*asked)
    assert records == []
    assert altered == [UserAltered(asked[0].user, ErrorCode.DUPLICATE_RESOURCE, TWICE)]


def test_the_first_reason_is_told() -> None:
    records, altered = decided(upsertion("bob", SHA_256, 1), upsertion("bob"))
    assert records == []
    assert [each.message for each in altered] == ["Too few iterations"]


def test_an_old_metadata_version_has_no_place_for_them() -> None:
    records, altered = decided(upsertion(), ScramDeletion("", 9), image=image_of(level(10)))
    assert records == []
    assert {each.code for each in altered} == {ErrorCode.UNSUPPORTED_VERSION}
    assert {each.message for each in altered} == {
        "The current metadata.version does not support SCRAM"
    }
    assert decided(upsertion(), image=image_of(level(11)))[0]


@pytest.mark.parametrize("user", [".", ".."])
def test_what_can_be_no_znode_is_no_user_over_zookeeper(user: str) -> None:
    assert len(decided(upsertion(user))[0]) == 1
    records, altered = decided(upsertion(user), upsertion("..."), over_zookeeper=True)
    assert [each.user for each in altered] == ["...", user]
    assert altered[1].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(records) == 1


def test_what_another_has_written_is_so() -> None:
    kept, new = IMAGE.credentials_of("alice")[SHA_512], IMAGE.credentials_of("bob")[SHA_256]
    new = new._replace(iterations=1)
    event = AdoptCredentials("alice", ((SHA_256, new), (SHA_512, kept)))
    (record,) = adopt_credentials(IMAGE, event)
    assert image_of(record).credentials_of("alice") == {SHA_256: new}
    assert adopt_credentials(IMAGE, AdoptCredentials("bob", ())) == [
        RemoveUserScramCredentialRecord(name="bob", mechanism=1)
    ]
    unchanged = tuple(IMAGE.credentials_of("alice").items())
    assert adopt_credentials(IMAGE, AdoptCredentials("alice", unchanged)) == []


def test_no_event_shows_a_salted_password() -> None:
    event = AlterScramCredentials(None, upsertions=(upsertion(salted_password=b"telling"),))
    assert "telling" not in repr(event)
    assert "'new'" in repr(event)

"""SCRAM credentials, set and deleted (KIP-554). Of a salted password only what checks it is kept.

What is refused of one user leaves the others as they are asked. A user can be altered once in a
request, whatever the mechanisms; of one that was refused already, the first reason is told.

Kafka differs: over ZooKeeper a 3.9 alters a user twice in a request, if the mechanisms are two.

Source: Kafka's `ScramControlManager` and `ScramFormatter`; RFC 5802.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from kafkalite.controller.events import (
    AdoptCredentials,
    AlterScramCredentials,
    ScramCredentialsAltered,
    ScramDeletion,
    ScramUpsertion,
    UserAltered,
)
from kafkalite.controller.features import METADATA
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.scram import ScramCredential, ScramMechanism
from kafkalite.protocol.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

_FIRST_LEVEL: Final = 11
"""Of `metadata.version`, 3.5-IV2: older Kafkas know no such records (KIP-900)."""
_NO_ZNODES: Final = (".", "..")
"""They are no names there, and URLs leave them as they are."""
_MECHANISMS: Final = frozenset(ScramMechanism)


def alter_scram_credentials(
    image: MetadataImage, event: AlterScramCredentials, settings: ControllerSettings
) -> tuple[list[Change], ScramCredentialsAltered]:
    """Each user's that can be. Codes: UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM,
    RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE, UNSUPPORTED_VERSION."""
    wanted: dict[str, ScramDeletion | ScramUpsertion] = {}
    refused: dict[str, KafkaError] = {}
    all_asked: list[ScramDeletion | ScramUpsertion] = [*event.deletions, *event.upsertions]
    for asked in all_asked:
        if asked.user in refused:
            continue
        try:
            if wanted.pop(asked.user, None) is not None:
                raise KafkaError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            _check(image, asked)
            if settings.over_zookeeper and asked.user in _NO_ZNODES:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # As a Kafka 3.9.
        except KafkaError as refusal:
            refused[asked.user] = refusal
        else:
            wanted[asked.user] = asked
    return (
        [_record(asked) for asked in wanted.values()],
        ScramCredentialsAltered(
            (
                *map(UserAltered, wanted),
                *(UserAltered(user, r.code, r.message or None) for user, r in refused.items()),
            )
        ),
    )


def adopt_credentials(image: MetadataImage, event: AdoptCredentials) -> list[Change]:
    """Records of what is other than it was."""
    before, after = image.credentials_of(event.user), dict(event.credentials)
    return [
        _credential_record(event.user, each, after.get(each))
        for each in ScramMechanism
        if before.get(each) != after.get(each)
    ]


def derived_credential(
    mechanism: ScramMechanism, *, salt: bytes, salted_password: bytes, iterations: int
) -> ScramCredential:
    """What is kept of a password that was salted and hashed so many times."""

    def keyed(text: bytes) -> bytes:
        return hmac.digest(salted_password, text, mechanism.hash_name)

    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(mechanism.hash_name, keyed(b"Client Key")).digest(),
        server_key=keyed(b"Server Key"),
        iterations=iterations,
    )


def _check(image: MetadataImage, asked: ScramDeletion | ScramUpsertion) -> None:
    if image.features.get(METADATA, 0) < _FIRST_LEVEL:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
        )
    if not asked.user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if asked.mechanism not in _MECHANISMS:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(asked, ScramUpsertion):
        _check_upsertion(asked)
    elif image.scram_credential(asked.mechanism, asked.user) is None:
        raise KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
        )


def _check_upsertion(asked: ScramUpsertion) -> None:
    mechanism = ScramMechanism(asked.mechanism)
    if asked.iterations < mechanism.min_iterations:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if asked.iterations > mechanism.max_iterations:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not asked.salted_password:  # Java's HMAC takes no empty key, and Kafka answers this.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _record(asked: ScramDeletion | ScramUpsertion) -> Change:
    credential = None
    if isinstance(asked, ScramUpsertion):
        credential = derived_credential(
            ScramMechanism(asked.mechanism),
            salt=asked.salt,
            salted_password=asked.salted_password,
            iterations=asked.iterations,
        )
    return _credential_record(asked.user, asked.mechanism, credential)


def _credential_record(user: str, mechanism: int, credential: ScramCredential | None) -> Change:
    if credential is None:
        return RemoveUserScramCredentialRecord(name=user, mechanism=mechanism)
    return UserScramCredentialRecord(name=user, mechanism=mechanism, **credential._asdict())

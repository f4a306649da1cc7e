"""Requests about SCRAM credentials. See `record_admin_answers.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat_tests.config_requests import Asked
from kafkalite.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

SHA_256, SHA_512 = 1, 2
A, B, ABSENT, ODD = "adm-alice", "adm-bob", "adm-absent", "adm,=ä *%/Ω"
ROOMY = 8192
"""Iterations."""


def requests() -> Iterator[Asked]:
    """All of them, in order. Other users are deleted at the end."""
    yield _describe()
    yield _describe([])
    yield _describe([ABSENT])
    yield from _set()
    yield from _refused()
    yield from _twice()
    yield from _deleted()


def _set() -> Iterator[Asked]:
    yield _alter(upsert=[_upsertion(A)])
    yield _describe([A])
    yield _alter(upsert=[_upsertion(A, SHA_512, ROOMY), _upsertion(B, SHA_512, 16_384)])
    yield _alter(upsert=[_upsertion(ODD, SHA_256, 4097)])
    yield _describe([A, B, ODD, ABSENT])
    yield _describe([B, A, B, ABSENT, ABSENT, ""])
    yield _describe()
    yield _describe([])
    yield _alter(upsert=[_upsertion(A, SHA_256, ROOMY)])
    yield _describe([A])
    yield _alter()


def _refused() -> Iterator[Asked]:
    for iterations in (4095, 16_385, 0, -1, -(2**31), 2**31 - 1):
        yield _alter(upsert=[_upsertion(A, SHA_256, iterations)])
        yield _alter(upsert=[_upsertion(A, SHA_512, iterations)])
    for mechanism in (0, 3, -128):
        yield _alter(upsert=[_upsertion(A, mechanism)])
        yield _alter(upsert=[_upsertion("", mechanism)])
        yield _alter(upsert=[_upsertion(A, mechanism, 1)])
        yield _alter(delete=[(A, mechanism)])
        yield _alter(delete=[("", mechanism)])
        yield _alter(delete=[(ABSENT, mechanism)])
    yield _alter(upsert=[_upsertion("")])
    yield _alter(upsert=[_upsertion("", SHA_256, 1)])
    yield _alter(delete=[("", SHA_256)])
    yield _alter(delete=[(ABSENT, SHA_256), (B, SHA_256)])
    # No key can be made of nothing.
    yield _alter(upsert=[_upsertion(ABSENT, salted_password=b"")])
    yield _alter(upsert=[_upsertion(ABSENT, salted_password=b""), _upsertion(B)])
    yield _describe()


def _twice() -> Iterator[Asked]:
    yield _alter(upsert=[_upsertion(A), _upsertion(A, SHA_512), _upsertion(B)])
    yield _alter(upsert=[_upsertion(A), _upsertion(A), _upsertion(A)])
    yield _alter(delete=[(A, SHA_256), (A, SHA_512)])
    yield _alter(delete=[(A, SHA_256), (A, SHA_256), (A, SHA_256)])
    yield _alter(delete=[(A, SHA_256)], upsert=[_upsertion(A, SHA_512)])
    yield _alter(delete=[(A, SHA_256)], upsert=[_upsertion(A, SHA_512), _upsertion(A)])
    # What is refused first is what is told.
    yield _alter(delete=[(ABSENT, SHA_256)], upsert=[_upsertion(ABSENT)])
    yield _alter(upsert=[_upsertion(A, SHA_256, 1), _upsertion(A)])
    yield _alter(upsert=[_upsertion(A), _upsertion(A, SHA_256, 1)])
    yield _alter(delete=[(A, 9), (A, SHA_256)])
    yield _alter(delete=[(A, SHA_256), (A, 9)])
    yield _alter(delete=[(A, SHA_256), (ABSENT, SHA_512)], upsert=[_upsertion(B, 9)])
    yield _describe()


def _deleted() -> Iterator[Asked]:
    yield _alter(delete=[(A, SHA_256)])
    yield _alter(delete=[(A, SHA_512), (B, SHA_512)], upsert=[_upsertion("adm-new")])
    yield _describe([A, B, "adm-new"])
    yield _alter(delete=[("adm-new", SHA_256), (ODD, SHA_256), (B, SHA_256)])
    yield _describe()


def _describe(users: Sequence[str] | None = None) -> Asked:
    names = None if users is None else [UserName(name=name) for name in users]
    return DescribeUserScramCredentialsRequest(users=names), 0


def _alter(
    *,
    delete: Sequence[tuple[str, int]] = (),
    upsert: Sequence[ScramCredentialUpsertion] = (),
) -> Asked:
    deletions = [ScramCredentialDeletion(name=name, mechanism=each) for name, each in delete]
    return AlterUserScramCredentialsRequest(deletions=deletions, upsertions=list(upsert)), 0


def _upsertion(
    name: str,
    mechanism: int = SHA_256,
    iterations: int = 4096,
    *,
    salted_password: bytes = b"password",
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=salted_password,
    )

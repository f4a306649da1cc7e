"""What a broker refused, in one line that says what to do, if there is something."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalite.errors import ErrorCode

_REMEDIES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`kafkalite topics list` lists those there are",
    ErrorCode.TOPIC_ALREADY_EXISTS: "--if-not-exists passes over it",
    ErrorCode.GROUP_ID_NOT_FOUND: "`kafkalite groups list` lists those there are",
    ErrorCode.NON_EMPTY_GROUP: "stop its consumers first",
    ErrorCode.UNKNOWN_MEMBER_ID: "stop the group's consumers first",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the right, or connect as somebody else",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask for the right, or connect as somebody else",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask for the right, or connect as somebody else",
    ErrorCode.UNSUPPORTED_VERSION: "this broker is too old for it, or lacks it",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of Kafka's, with what the broker said of it."""

    code: int
    message: str | None = None
    """None or empty: it said nothing."""

    @property
    def name(self) -> str:
        """Of the code, as Kafka calls it."""
        return ErrorCode(self.code).name if self.code in _KNOWN else f"error {self.code}"

    def document(self) -> dict[str, object]:
        """In JSON."""
        return {"code": self.name, "message": self.message or None}

    def __str__(self) -> str:
        said = " ".join((self.message or "").split()).removesuffix(".")
        told = f"{said} ({self.name})" if said else self.name
        remedy = _REMEDIES.get(ErrorCode(self.code)) if self.code in _KNOWN else None
        return f"{told}; {remedy}" if remedy else told


_KNOWN = frozenset(int(code) for code in ErrorCode)

"""What a broker refused, in one line that says what to do, if there is something."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalite.errors import ErrorCode

_COORDINATOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_WORDS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "no topic can have this name",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group",
    ErrorCode.NON_EMPTY_GROUP: "the group has members",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has members",
    ErrorCode.MESSAGE_TOO_LARGE: "the record is larger than its topic takes",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "not allowed",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "not allowed",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "not allowed",
    ErrorCode.UNSUPPORTED_VERSION: "this broker cannot do that",
    **dict.fromkeys(_COORDINATOR, "the coordinator of the group is not ready"),
    ErrorCode.NOT_CONTROLLER: "the cluster has no controller",
}
"""For those of which brokers say no more than the code."""
_REMEDIES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`kafkalite topics list` lists those there are",
    ErrorCode.TOPIC_ALREADY_EXISTS: "--if-not-exists passes over it",
    ErrorCode.GROUP_ID_NOT_FOUND: "`kafkalite groups list` lists those there are",
    ErrorCode.NON_EMPTY_GROUP: "stop its consumers first",
    ErrorCode.UNKNOWN_MEMBER_ID: "stop its consumers first",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes",
    **dict.fromkeys((*_COORDINATOR, ErrorCode.NOT_CONTROLLER), "try again in a while"),
}

_WRITTEN = re.compile(r"\[Error (?P<code>-?\d+)\] \w+(: (?P<message>.*))?", re.DOTALL)
"""How kafka-python writes down an error of one thing among several."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of Kafka's, with what the broker said of it."""

    code: int
    message: str | None = None
    """None or empty: it said nothing."""

    @classmethod
    def written(cls, text: str) -> Refusal:
        """One that kafka-python has put into words."""
        read = _WRITTEN.fullmatch(text)
        assert read is not None, text
        return cls(int(read["code"]), read["message"])

    @property
    def name(self) -> str:
        """Of the code, as Kafka calls it."""
        known = self._known
        return f"error {self.code}" if known is None else known.name

    def document(self) -> dict[str, object]:
        """In JSON; `message` is what people read too."""
        return {"code": self.name, "message": str(self)}

    def __str__(self) -> str:
        said = " ".join((self.message or "").split()).removesuffix(".")
        words, remedy = said, None
        if self._known is not None:
            own = _WORDS.get(self._known, "")
            words = own if self._known in _COORDINATOR else said or own
            remedy = _REMEDIES.get(self._known)
        told = f"{words} ({self.name})" if words else self.name
        return f"{told}; {remedy}" if remedy else told

    @property
    def _known(self) -> ErrorCode | None:
        """None: of a Kafka that is newer than this."""
        try:
            return ErrorCode(self.code)
        except ValueError:
            return None

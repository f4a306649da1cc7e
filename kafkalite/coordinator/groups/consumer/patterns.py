"""Regular expressions by which members subscribe: in RE2's syntax, of whole names of topics.

Kafka differs: its RE2 is another one, which refuses two groups of one name and `\\C`; here both are
taken.

Source: Kafka's `TopicRegexResolver`; KIP-848.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkalite.coordinator.groups.consumer.state import ResolvedRegex
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "regexp/syntax: internal error",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}
"""How google-re2 begins to say what is wrong, and how Kafka's says it, where they differ."""


def resolve(
    regexes: Iterable[str], image: MetadataImage, now: TimestampMs
) -> Mapping[str, ResolvedRegex]:
    """The topics that each stands for. `KafkaError(INVALID_REGULAR_EXPRESSION)`."""
    import re2  # Imported by the first group that has one.

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    resolved = {}
    for regex in regexes:
        try:
            matches = re2.compile(regex, options).fullmatch
        except re2.error as error:
            raise KafkaError(
                ErrorCode.INVALID_REGULAR_EXPRESSION,
                f"SubscribedTopicRegex `{regex}` is not a valid regular expression:"
                f" {_reason(error)}.",
            ) from None
        topics = frozenset(name for name in image.topics if matches(name))
        resolved[regex] = ResolvedRegex(topics, image.end_offset, now)
    return resolved


def _reason(error: Exception) -> str:
    (said,) = error.args
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    for start, words in _WORDS.items():
        if text.startswith(start):
            return words
    return text.partition(":")[0]

"""Regular expressions, and the real Kafka's words about wrong ones."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.consumer.patterns import resolve
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import TimestampMs
from tests.coordinator.sample_consumers import image_of

IMAGE = image_of({"a": 1, "ab": 1, "__consumer_offsets": 1})
NOW = TimestampMs(7)


@pytest.mark.parametrize(
    ("regex", "topics"),
    [
        ("a", {"a"}),
        ("a.*", {"a", "ab"}),
        (".*", {"a", "ab", "__consumer_offsets"}),
        ("(?i)A", {"a"}),
        ("b", set()),
        ("^a$|ab", {"a", "ab"}),
    ],
)
def test_whole_names_match(regex: str, topics: set[str]) -> None:
    (resolved,) = resolve([regex], IMAGE, NOW).values()
    assert (set(resolved.topics), resolved.timestamp) == (topics, NOW)


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("(abc", "missing closing )"),
        ("abc)", "regexp/syntax: internal error"),
        ("[a", "missing closing ]"),
        ("a**", "invalid nested repetition operator"),
        ("*a", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("\\", "trailing backslash at end of expression"),
        ("\\8", "invalid escape sequence"),
        ("\\pX", "invalid character class range"),
        ("(?P<n", "invalid named capture"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("[b-a]", "invalid character class range"),
    ],
)
def test_a_wrong_one_is_refused_in_kafkas_words(regex: str, reason: str) -> None:
    with pytest.raises(KafkaError) as refused:
        resolve([regex], IMAGE, NOW)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert refused.value.message == (
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
    )


def test_all_are_resolved_with_the_same_topics() -> None:
    assert resolve([], IMAGE, NOW) == {}
    assert list(resolve(["a", "b"], IMAGE, NOW)) == ["a", "b"]

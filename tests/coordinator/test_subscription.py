from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.subscription import subscribed_topics
from kafkalite.protocol.codec import encode
from kafkalite.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


@pytest.mark.parametrize("version", range(4))
def test_every_version_begins_with_the_topics(version: int) -> None:
    message = ConsumerProtocolSubscription(topics=["a", "ü"], user_data=b"x")
    data = version.to_bytes(2) + encode(message, version)
    assert subscribed_topics([data]) == frozenset({"a", "ü"})


def test_topics_of_all_members() -> None:
    one, other = (
        b"\0\0" + encode(ConsumerProtocolSubscription(topics=topics), 0)
        for topics in (["a", "b"], ["b", "c"])
    )
    assert subscribed_topics([one, other]) == frozenset({"a", "b", "c"})
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        b"\xff\xff\0\0\0\0",
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\x01",
        b"\0\0\0\0\0\x01\0\x05abc",
        b"\0\0\0\0\0\x01\xff\xffabc",
        b"\0\0\0\0\0\x01\0\x01\xff",
    ],
)
def test_what_cannot_be_read_says_nothing(data: bytes) -> None:
    good = b"\0\0" + encode(ConsumerProtocolSubscription(topics=["a"]), 0)
    assert subscribed_topics([good, data]) is None

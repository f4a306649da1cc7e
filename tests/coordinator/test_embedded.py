"""What classic consumers tell each other."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.embedded import (
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from kafkalite.errors import ProtocolError
from tests.coordinator.sample_groups import subscription
from tests.coordinator.sample_migrations import subscription_bytes


def test_a_subscription_of_today() -> None:
    read = read_subscription(subscription_bytes(["t", "u"], {"t": [1, 2]}, "here"))
    assert (read.topics, read.rack_id) == (["t", "u"], "here")
    assert [(each.topic, each.partitions) for each in read.owned_partitions] == [("t", [1, 2])]


def test_the_oldest_subscription_owns_nothing() -> None:
    read = read_subscription(subscription("t") + b"what later versions add")
    assert (read.topics, read.owned_partitions, read.rack_id) == (["t"], [], None)


def test_a_version_that_is_not_known_is_read_as_the_last_one() -> None:
    data = subscription_bytes(["t"], {})
    assert read_subscription(b"\0\x09" + data[2:]).topics == ["t"]


@pytest.mark.parametrize("version", [0, 3])
def test_an_assignment(version: int) -> None:
    data = write_assignment({"t": (0, 2)}, version)
    assert version_of(data) == version
    read = read_assignment(data)
    assert [(each.topic, each.partitions) for each in read.assigned_partitions] == [("t", [0, 2])]
    assert read.user_data is None


def test_an_assignment_for_a_later_version_has_the_last_one() -> None:
    assert version_of(write_assignment({}, 9)) == 3


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\x03", b"\0\0\xff\xff\xff\xff"])
def test_what_cannot_be_read(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_subscription(data)

"""A group that is in use passes from the classic to the consumer protocol and back: each client for
Python with the classic one, librdkafka with the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from compat_tests.aiokafka.member import AiokafkaMember
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.member import ConfluentConsumerMember, ConfluentMember
from compat_tests.group_cases import Member, fill, is_shared, places, poll_until
from compat_tests.kafka_python.member import KafkaPythonMember

Join = Callable[[type[Member]], Member]


@pytest.fixture
def join(bootstrap: str, topic: str) -> Iterator[Join]:
    """Members of one group; those that did not leave do so in the end."""
    joined: list[Member] = []

    def join(kind: type[Member]) -> Member:
        joined.append(kind.join(bootstrap, f"{topic}-{os.getpid()}", [topic]))
        return joined[-1]

    yield join
    for member in joined:
        member.leave()


@pytest.mark.parametrize("classic", [ConfluentMember, KafkaPythonMember, AiokafkaMember])
def test_a_group_is_upgraded_and_downgraded_while_it_reads(
    bootstrap: str, topic: str, join: Join, classic: type[Member]
) -> None:
    client, wanted = ConfluentClient(bootstrap), places(topic, 4)
    client.create_topic(topic, 4)
    fill(client, topic, 4, 5)
    old = join(classic)
    poll_until(lambda got: len(got) == 20, old)
    old.commit(dict.fromkeys(wanted, 5))
    new = join(ConfluentConsumerMember)
    poll_until(lambda got: is_shared(wanted, old, new), old, new)
    fill(client, topic, 4, 5, first=5)
    got = poll_until(lambda got: len(got) >= 20, old, new)
    assert sorted(each.offset for each in got) == sorted(list(range(5, 10)) * 4)
    old.commit(dict.fromkeys(old.assignment(), 10))
    new.commit(dict.fromkeys(new.assignment(), 10))
    old.leave()
    poll_until(lambda got: new.assignment() == wanted, new)
    again = join(classic)
    poll_until(lambda got: is_shared(wanted, again, new), again, new)
    new.leave()
    poll_until(lambda got: again.assignment() == wanted, again)
    fill(client, topic, 4, 5, first=10)
    got = poll_until(lambda got: len(got) >= 20, again)
    assert sorted(each.offset for each in got) == sorted(list(range(10, 15)) * 4)

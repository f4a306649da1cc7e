"""Which settings act: derived from the code that reads them."""

from __future__ import annotations

from functools import cache

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.known import OF_A_MECHANISM
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.config.views import BrokerConfig, TopicConfig
from tools.compatibility_facts import unread

_READ_ELSEWHERE = frozenset(
    {
        *("log.dir", "log.dirs", "metadata.log.dir", "broker.id"),
        *OF_A_MECHANISM,
    }
)
"""By the command line, which opens the folders, by the view itself, and by `config.sasl`, of one
mechanism of one listener."""


@cache
def unread_topic_keys() -> frozenset[str]:
    """Keys of topics whose value no code looks at."""
    unread_fields = set(unread(TopicConfig._fields))
    return frozenset(
        name
        for name in TOPIC_KEYS
        if _field(name) in unread_fields
        or (_field(name) not in TopicConfig._fields and name not in _WITHOUT_FIELD)
    )


@cache
def unread_broker_keys() -> frozenset[str]:
    """Keys of `BROKER_KEYS` whose value no code looks at: not of the broker, and not as what a
    topic gets that does not set it."""
    unread_fields = set(unread(BrokerConfig._fields))
    of_topics = {synonym.name: key.name for key in TOPIC_KEYS.values() for synonym in key.synonyms}
    topics_unread = unread_topic_keys()
    found = set()
    for name in BROKER_KEYS:
        if name in _READ_ELSEWHERE:
            continue
        is_read = _field(name) in BrokerConfig._fields and _field(name) not in unread_fields
        is_read_of_topics = name in of_topics and of_topics[name] not in topics_unread
        if not is_read and not is_read_of_topics:
            found.add(name)
    return frozenset(found)


_WITHOUT_FIELD = frozenset({"internal.segment.bytes", "remote.storage.enable"})
"""Keys of topics that are looked at under another name, or only to refuse them."""


def _field(name: str) -> str:
    return name.replace(".", "_")

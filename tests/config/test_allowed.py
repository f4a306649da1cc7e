from __future__ import annotations

import pytest

from kafkalite.config.allowed import allowed
from kafkalite.config.keys import ConfigKey, ConfigType
from kafkalite.config.known import key_of
from kafkalite.config.topic_keys import TOPIC_KEYS


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delete.topic.enable", "true or false"),
        ("num.partitions", "a whole number from 1 to 2147483647"),
        ("offsets.topic.replication.factor", "a whole number from 1 to 32767"),
        ("log.retention.bytes", "a whole number from -9223372036854775808 to 9223372036854775807"),
        ("compression.gzip.level", "a whole number from 1 to 9, or -1"),
        ("log.cleaner.min.cleanable.ratio", "a number from 0 to 1"),
        ("log.cleaner.io.max.bytes.per.second", "a number"),
        ("log.cleanup.policy", "a list of compact and delete, separated by commas"),
        (
            "process.roles",
            "a list of broker and controller, separated by commas, not empty",
        ),
        ("controller.quorum.voters", "a list of ID@HOST:PORT, separated by commas"),
        ("listeners", "a list, separated by commas, not empty"),
        ("compression.type", "uncompressed, zstd, lz4, snappy, gzip or producer"),
        ("sasl.oauthbearer.assertion.algorithm", "ES256 or RS256, in upper or lower case"),
        ("broker.rack", "any text"),
        ("remote.log.storage.manager.class.name", "any text but the empty one"),
        ("ssl.key.password", "any text"),
        (
            "kafkalite.cluster.id",
            "ASCII letters, digits and signs, without blanks and backslashes",
        ),
        ("principal.builder.class", "the name of a Java class"),
    ],
)
def test_in_words(name: str, words: str) -> None:
    key = key_of(name)
    assert key is not None
    assert allowed(key) == words


def test_a_number_without_a_largest_one() -> None:
    key = ConfigKey("k", ConfigType.DOUBLE, None, "A key.", minimum=0.5)
    assert allowed(key) == "a number of at least 0.5"


def test_every_topic_key_has_words() -> None:
    assert all(allowed(key) for key in TOPIC_KEYS.values())


def test_a_choice_of_one() -> None:
    key = ConfigKey("k", ConfigType.STRING, None, "A key.", one_of=("only",))
    assert allowed(key) == "only"

"""Which names are settings of a broker, and what a name that is none was meant to be.

A name can be: a key of Kafka 4.4 that acts here, one that does not (or not yet), one of an older
release, one of a part that is plugged into a broker and reads its file, or unknown.
"""

from __future__ import annotations

import re
from collections.abc import Container
from enum import Enum, auto

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.keys import ConfigKey
from kafkalite.config.topic_keys import TOPIC_KEYS

_NOT_YET = """
queued.max.requests socket.receive.buffer.bytes
"""
_TIERED = """
local.retention.bytes local.retention.ms log.local.retention.bytes log.local.retention.ms
log.remote.copy.lag.bytes log.remote.copy.lag.ms remote.copy.lag.bytes remote.copy.lag.ms
remote.log.copy.disable remote.log.delete.on.disable
"""
_OLDER = """
advertised.host.name advertised.port broker.id.generation.enable control.plane.listener.name
controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
delegation.token.master.key eligible.leader.replicas.enable group.coordinator.new.enable
group.share.enable group.share.max.groups host.name inter.broker.protocol.version
leader.imbalance.per.broker.percentage log.message.downconversion.enable
log.message.format.version log.message.timestamp.difference.max.ms
metadata.log.segment.min.bytes offsets.commit.required.acks password.encoder.cipher.algorithm
password.encoder.iterations password.encoder.key.length password.encoder.keyfactory.algorithm
password.encoder.old.secret password.encoder.secret port quota.consumer.default
quota.producer.default reserved.broker.max.id
"""
NOT_YET = frozenset(_NOT_YET.split())
"""Keys of `BROKER_KEYS` that nothing reads yet."""
TIERED = frozenset(_TIERED.split())
"""Keys of topics, and of brokers for topics, that nothing will read: see
`remote.storage.enable`."""

OLDER = frozenset(_OLDER.split())
"""Keys of Kafka 2.8 to 3.9 that 4.4 has no more; those that begin with `zookeeper.` are apart."""

_OF_ZOOKEEPER = ("leader.imbalance.per.broker.percentage",)
"""Others that act over it alone."""
_OF_A_LISTENER = re.compile(
    r"listener\.name\.[^.]+\."
    r"(?:(?P<tls>ssl\..+)"
    r"|(?P<mechanism>[^.]+\.)?(?P<sasl>sasl\..+|connections\.max\.reauth\.ms))"
)
"""Of SASL a mechanism may be named besides."""
OF_A_MECHANISM = ("sasl.jaas.config", "sasl.server.callback.handler.class")
"""They act where one is named."""
_OF_PARTS = ("allow.everyone.if.no.acl.found", "super.users")
_OF_PARTS_BEGIN = (
    "config.providers.",
    "confluent.",
    "cruise.control.",
    "kafka.metrics.",
    "listener.name.",
    "rlmm.config.",
    "rsm.config.",
)
_OF_CLIENTS_TOO = """
compression.gzip.level compression.lz4.level compression.type compression.zstd.level
connections.max.idle.ms fetch.max.bytes message.max.bytes metric.reporters request.timeout.ms
security.providers socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
"""
_OF_CLIENTS_TOO_BEGIN = ("metrics.", "sasl.", "ssl.")


_LIKENESS = 0.7
"""Of two names, from 0 to 1, where one may have been meant for the other."""
_LONGEST_NAME = 200
"""More of a name is not looked at: whatever that long a line is, it is no key."""


class Kind(Enum):
    """Of a name."""

    ACTS = auto()
    WITHOUT_EFFECT = auto()
    """A key of Kafka 4.4."""
    OLDER = auto()
    ZOOKEEPER = auto()
    """It acts where one is joined."""
    OF_A_PART = auto()
    UNKNOWN = auto()


def kind_of(name: str) -> Kind:
    """What `name` is as a broker's setting."""
    if name != in_lower_case(name):
        return Kind.UNKNOWN
    own = _OF_A_LISTENER.fullmatch(name)
    name = of_all_listeners(name)
    if name in OF_A_MECHANISM and (own is None or own["mechanism"] is None):
        return Kind.WITHOUT_EFFECT
    if name in BROKER_KEYS:
        return Kind.WITHOUT_EFFECT if name in NOT_YET | TIERED else Kind.ACTS
    if name.startswith("zookeeper.") or name in _OF_ZOOKEEPER:
        return Kind.ZOOKEEPER
    if name in OLDER:
        return Kind.OLDER
    if name in _OF_PARTS or name.startswith(_OF_PARTS_BEGIN):
        return Kind.OF_A_PART
    return Kind.UNKNOWN if key_of(name) is None else Kind.WITHOUT_EFFECT


def in_lower_case(name: str) -> str:
    """A listener's own setting with the listener and the mechanism as they have to be written;
    otherwise they are nobody's, and nothing reads it. Any other name as it is."""
    own = _OF_A_LISTENER.fullmatch(name)
    if own is None:
        return name
    key: str = own["tls"] or own["sasl"]
    return name.removesuffix(key).lower() + key


def of_all_listeners(name: str) -> str:
    """The key that a listener's own setting of TLS or SASL, `listener.name.NAME.ssl...` or
    `listener.name.NAME.MECHANISM.sasl...`, is one of; any other name as it is."""
    own = _OF_A_LISTENER.fullmatch(name)
    return name if own is None else own["tls"] or own["sasl"]


def is_of_clients_too(name: str) -> bool:
    """Whether a Java client, or librdkafka, has a setting of that name besides."""
    return name in _OF_CLIENTS_TOO.split() or name.startswith(_OF_CLIENTS_TOO_BEGIN)


def key_of(name: str) -> ConfigKey | None:
    """Kafka 4.4's or our definition; None if there is none. The large table is read only for names
    outside the small one."""
    of_all = of_all_listeners(name)
    if of_all != name:
        key = key_of(of_all)
        return None if key is None else key._replace(name=name)
    key = BROKER_KEYS.get(name)
    if key is not None:
        return key
    from kafkalite.config.described_keys import broker_keys, internal_keys

    return broker_keys().get(name) or internal_keys().get(name)


def meant_by(name: str, given: Container[str]) -> str | None:
    """The `nearest` to an unknown name. None besides where that key is among those `given`: then
    it was not what was meant, and to say it again helps nobody."""
    meant = nearest(name)
    return None if meant is None or meant in given else meant


def nearest(name: str) -> str | None:
    """The key that was probably meant: a topic's key has another name in a broker's file. None:
    none is like it."""
    of_all = of_all_listeners(name)
    if of_all != name:
        meant = nearest(of_all)
        return None if meant is None else name.replace(of_all, meant)
    topic_key = TOPIC_KEYS.get(name)
    if topic_key is not None and topic_key.synonyms:
        return topic_key.synonyms[0].name
    from difflib import get_close_matches

    from kafkalite.config.described_keys import broker_keys

    found = get_close_matches(name[:_LONGEST_NAME], broker_keys(), n=1, cutoff=_LIKENESS)
    return found[0] if found else None

"""The broker keys that kafkalite acts on: by subject in the tables beside this file, and those that
are a topic key under another name.

Names, types, defaults, ranges and synonyms are facts of Kafka 4.4.0's definitions; the tests hold
them against what the real broker describes (`tests/data/configs.json`) and refuses. Keys that begin
with `kafkalite.` are ours.
"""

from __future__ import annotations

from kafkalite.config.cluster_keys import CLUSTER_KEYS
from kafkalite.config.coordinator_keys import COORDINATOR_KEYS
from kafkalite.config.keys import INT, LONG, MAX_LONG, ConfigKey
from kafkalite.config.log_keys import LOG_KEYS
from kafkalite.config.network_keys import NETWORK_KEYS
from kafkalite.config.sasl_keys import SASL_KEYS
from kafkalite.config.topic_keys import TOPIC_KEYS

_TOPIC_SYNONYMS = (
    ConfigKey("log.roll.hours", INT, "168", "segment.ms in hours.", minimum=1),
    ConfigKey("log.roll.ms", LONG, None, "segment.ms of topics."),
    ConfigKey("log.roll.jitter.hours", INT, "0", "segment.jitter.ms in hours.", minimum=0),
    ConfigKey("log.roll.jitter.ms", LONG, None, "segment.jitter.ms of topics."),
    ConfigKey("log.retention.hours", INT, "168", "retention.ms in hours."),
    ConfigKey("log.retention.minutes", INT, None, "retention.ms in minutes."),
    ConfigKey("log.retention.ms", LONG, None, "retention.ms of topics."),
    ConfigKey("log.flush.interval.ms", LONG, None, "flush.ms of topics."),
    ConfigKey("log.flush.scheduler.interval.ms", LONG, MAX_LONG, "flush.ms where none is set."),
)


def _with_synonyms() -> dict[str, ConfigKey]:
    """The broker keys, with those that are a topic key under another name."""
    tables = (NETWORK_KEYS, SASL_KEYS, CLUSTER_KEYS, LOG_KEYS, COORDINATOR_KEYS, _TOPIC_SYNONYMS)
    keys = {key.name: key for table in tables for key in table}
    for topic_key in TOPIC_KEYS.values():
        for synonym in topic_key.synonyms:
            if synonym.name not in keys:
                doc = f"{topic_key.name} of topics that do not set it."
                keys[synonym.name] = topic_key._replace(name=synonym.name, doc=doc, synonyms=())
    return keys


BROKER_KEYS = _with_synonyms()
"""By name. Kafka's other broker keys are taken and ignored until they act. Internal ones are not
described."""

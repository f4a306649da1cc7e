"""Broker settings in environment variables, as three images of Kafka take them.

| image                  | `num.partitions` is        | the id of a new cluster is |
|------------------------|----------------------------|----------------------------|
| apache/kafka           | KAFKA_NUM_PARTITIONS       | CLUSTER_ID                 |
| confluentinc/cp-kafka  | KAFKA_NUM_PARTITIONS       | CLUSTER_ID                 |
| bitnami/kafka          | KAFKA_CFG_NUM_PARTITIONS   | KAFKA_KRAFT_CLUSTER_ID, KAFKA_CLUSTER_ID |

In a name `_` stands for `.`, `__` for `_`, and `___` for `-`. Where there are both, KAFKA_ is
stronger than KAFKA_CFG_. Each image has variables besides that say nothing to a broker (the JVM's
options, logging, its own scripts), and programs that use Kafka have more; they are passed over.

Where only `advertised.listeners` is given, the images listen at its ports on all addresses, and so
it is here. ALLOW_PLAINTEXT_LISTENER=yes, by which bitnami's image says that it may listen without
encryption, is taken at its word: without `listeners` it means port 9092 of all addresses. Both
images do so in any case; here nothing but the machine itself can connect unless something says so.

Source: what the images' scripts and documents do, not their text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_PREFIX = "KAFKA_"
BITNAMI_PREFIX = "KAFKA_CFG_"
"""Of nothing but a broker's settings."""
CLUSTER_ID_VARIABLES = ("CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID")
"""Of the id of a new cluster, the strongest first."""
_RUNS = {1: ".", 2: "_", 3: "-"}
_OTHER_NAMES = {
    "KAFKA_LOGS_DIRS": "log.dirs",
    "KAFKA_MAX_MESSAGE_BYTES": "message.max.bytes",
    "KAFKA_SEGMENT_BYTES": "log.segment.bytes",
}
"""bitnami's, of old."""

_NOT_SETTINGS = """
KAFKA_BASE_DIR KAFKA_BOOTSTRAP KAFKA_BOOTSTRAP_SERVER KAFKA_BOOTSTRAP_SERVERS KAFKA_BROKER
KAFKA_BROKERS KAFKA_BROKER_LIST KAFKA_BROKER_PASSWORD KAFKA_BROKER_URL KAFKA_BROKER_USER
KAFKA_CERTIFICATE_PASSWORD KAFKA_CERTS_DIR KAFKA_CLASSPATH KAFKA_CLIENT_ID
KAFKA_CLIENT_LISTENER KAFKA_CLIENT_LISTENER_NAME KAFKA_CLIENT_PASSWORDS KAFKA_CLIENT_USERS
KAFKA_CONF_DIR KAFKA_CONF_FILE KAFKA_CONTROLLER_PASSWORD KAFKA_CONTROLLER_USER
KAFKA_CREATE_TOPICS KAFKA_CREATE_TOPICS_SEPARATOR
KAFKA_DAEMON_GROUP KAFKA_DAEMON_USER KAFKA_DATA_DIR KAFKA_DATA_DIRS KAFKA_DEBUG
KAFKA_ENABLE_KRAFT KAFKA_GC_LOG_OPTS KAFKA_GROUP KAFKA_GROUP_ID KAFKA_HEAP_OPTS KAFKA_HOME
KAFKA_HOST KAFKA_INITIAL_CONTROLLERS KAFKA_INITSCRIPTS_DIR KAFKA_INTER_BROKER_PASSWORD
KAFKA_INTER_BROKER_USER KAFKA_JVM_PERFORMANCE_OPTS KAFKA_KRAFT_BOOTSTRAP_SCRAM_USERS
KAFKA_MODE KAFKA_MOUNTED_CONF_DIR KAFKA_OPTS KAFKA_PASSWORD KAFKA_PORT KAFKA_SCALA_VERSION
KAFKA_SECURITY_PROTOCOL KAFKA_SKIP_KRAFT_STORAGE_INIT KAFKA_TOPIC KAFKA_TOPICS KAFKA_URL
KAFKA_USER KAFKA_USERNAME KAFKA_VERSION KAFKA_VOLUME_DIR KAFKA_ZOOKEEPER_BOOTSTRAP_SCRAM_USERS
KAFKA_ZOOKEEPER_PASSWORD KAFKA_ZOOKEEPER_PROTOCOL KAFKA_ZOOKEEPER_USER
"""
_NOT_SETTINGS_BEGIN = (
    "KAFKA_CLUSTERS_",
    "KAFKA_CONNECT_",
    "KAFKA_JMX_",
    "KAFKA_LOG4J_",
    "KAFKA_PORT_",
    "KAFKA_REST_",
    "KAFKA_SCHEMA_REGISTRY_",
    "KAFKA_SERVICE_",
    "KAFKA_TLS_",
    "KAFKA_TOOLS_",
    "KAFKA_ZOOKEEPER_TLS_",
)
_NOT_SETTINGS_END = ("_CREDENTIALS", "_FILE", "_FILENAME")

_LISTENERS = "listeners"
_ALLOW_PLAINTEXT = "ALLOW_PLAINTEXT_LISTENER"
_YES = ("yes", "true", "1")


class Given(NamedTuple):
    """A value, and where somebody set it: a variable, a file, `--set`."""

    value: str
    origin: str


class FromEnvironment(NamedTuple):
    """What an environment sets."""

    settings: dict[str, Given]
    """By Kafka's key. Whether keys are known and values good, is not looked at."""
    listeners: Given | None
    """Where to listen if no `listeners` says it: not in this environment, and not elsewhere."""
    cluster_id: Given | None
    """CLUSTER_ID is so general a name that, alone, it need not be Kafka's: see `is_uuid`."""


def read_environment(environment: Mapping[str, str]) -> FromEnvironment:
    """The broker settings among `environment`."""
    settings: dict[str, Given] = {}
    for variable in sorted(environment, key=_weaker_first):
        key = setting_of(variable)
        if key is not None:
            settings[key] = Given(environment[variable], variable)
    listeners = _implied_listeners(settings, environment)
    if listeners is not None and not settings.get(_LISTENERS, listeners).value:
        del settings[_LISTENERS]
    named = (name for name in CLUSTER_ID_VARIABLES if environment.get(name))
    cluster_id = next((Given(environment[name], name) for name in named), None)
    return FromEnvironment(settings, listeners, cluster_id)


def is_uuid(cluster_id: str) -> bool:
    """Whether it has the form of those that Kafka's `kafka-storage random-uuid` makes, which no
    other program's ids have. Kafka takes others too."""
    return re.fullmatch(r"[A-Za-z0-9_-]{22}", cluster_id) is not None


def _weaker_first(variable: str) -> tuple[bool, bool, str]:
    return (
        not variable.startswith(BITNAMI_PREFIX),
        variable in _OTHER_NAMES,
        variable,
    )


def setting_of(variable: str) -> str | None:
    """The setting's name, known or not; None for a variable that is none."""
    if not variable.startswith(_PREFIX) or variable in CLUSTER_ID_VARIABLES:
        return None
    if variable in _OTHER_NAMES:
        return _OTHER_NAMES[variable]
    prefix = BITNAMI_PREFIX if variable.startswith(BITNAMI_PREFIX) else _PREFIX
    if prefix == _PREFIX and (
        variable in _NOT_SETTINGS.split()
        or variable.startswith(_NOT_SETTINGS_BEGIN)
        or variable.endswith(_NOT_SETTINGS_END)
    ):
        return None
    name = variable.removeprefix(prefix).lower()
    return re.sub("_{1,3}", lambda run: _RUNS[len(run[0])], name) or None


def _implied_listeners(
    settings: Mapping[str, Given], environment: Mapping[str, str]
) -> Given | None:
    advertised = settings.get("advertised.listeners")
    if advertised is not None and advertised.value:
        everywhere = re.sub("://[^,]*:", "://0.0.0.0:", advertised.value)
        return Given(everywhere, advertised.origin)
    if environment.get(_ALLOW_PLAINTEXT, "").lower() in _YES:
        return Given("PLAINTEXT://:9092", _ALLOW_PLAINTEXT)
    return None

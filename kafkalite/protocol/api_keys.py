"""The APIs of Kafka's protocol by number, and what must be known before a module is imported.

Four have left Kafka with ZooKeeper (LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown);
brokers of 3.9 still speak them among each other.
"""

from __future__ import annotations

from enum import IntEnum
from importlib import import_module
from typing import NamedTuple, TypeVar

from kafkalite.protocol.messages.index import ROWS
from kafkalite.protocol.schema import Message, Request, Response

M = TypeVar("M", bound=Message)


class ApiKey(IntEnum):
    """The int16 with which a request starts."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94


class ApiFacts(NamedTuple):
    """One row of the generated index."""

    key: ApiKey
    name: str
    """As Kafka spells it in its message names: `ListOffsets`."""
    module: str
    """In `kafkalite.protocol.messages`."""
    first_version: int
    last_version: int
    """Inclusive; of what Kafka has a schema for, which is not always what it serves."""
    first_flexible_version: int | None
    """None for an API that has no flexible version."""
    last_is_unstable: bool
    """Whether Kafka hides the last version unless told otherwise."""
    listeners: tuple[str, ...]
    """Where Kafka takes the request: broker, controller, zkBroker."""


FACTS: dict[int, ApiFacts] = {
    row[0]: ApiFacts(ApiKey(row[0]), *row[1:-1], listeners=tuple(row[-1].split())) for row in ROWS
}


def request_class(key: int) -> type[Request]:
    """Imports the API's module. `KeyError` for a key that is none."""
    return _message_class(key, "Request", Request)


def response_class(key: int) -> type[Response]:
    """Imports the API's module. `KeyError` for a key that is none."""
    return _message_class(key, "Response", Response)


def _message_class(key: int, kind: str, base: type[M]) -> type[M]:
    facts = FACTS[key]
    module = import_module(f"kafkalite.protocol.messages.{facts.module}")
    cls = getattr(module, facts.name + kind)
    assert isinstance(cls, type), cls
    assert issubclass(cls, base), cls
    return cls

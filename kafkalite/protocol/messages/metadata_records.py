# Made by tools/generate_messages.py, digest 9ea53a8ce73144e6; do not edit.
"""Records of the metadata log, `__cluster_metadata`, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import (
    array,
    binary,
    boolean,
    float64,
    int16,
    int32,
    int64,
    int8,
    string,
    uint16,
    uuid,
)
from kafkalite.protocol.schema import MetadataRecord, Struct
from kafkalite.types import Uuid


class BrokerEndpoint(Struct):
    name: str = string("0+", map_key=True)
    host: str = string("0+")
    port: int = uint16("0+")
    security_protocol: int = int16("0+")


class BrokerFeature(Struct):
    name: str = string("0+", map_key=True)
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class RegisterBrokerRecord(MetadataRecord, api_key=0, versions="0-4", flexible="0+"):
    broker_id: int = int32("0+", entity="brokerId")
    is_migrating_zk_broker: bool = boolean("2+")
    incarnation_id: Uuid = uuid("0+")
    broker_epoch: int = int64("0+")
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint, "0+")
    features: list[BrokerFeature] = array(BrokerFeature, "0+")
    rack: str | None = string("0+", nullable="0+")
    fenced: bool = boolean("0+", default=True)
    in_controlled_shutdown: bool = boolean("1+")
    log_dirs: list[Uuid] = array(uuid, "3+", tag=0)
    cordoned_log_dirs: list[Uuid] | None = array(uuid, "4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(MetadataRecord, api_key=1, versions="0", flexible="0+"):
    broker_id: int = int32("0+", entity="brokerId")
    broker_epoch: int = int64("0+")


class TopicRecord(MetadataRecord, api_key=2, versions="0", flexible="0+"):
    name: str = string("0+", entity="topicName")
    topic_id: Uuid = uuid("0+")


class PartitionRecord(MetadataRecord, api_key=3, versions="0-2", flexible="0+"):
    partition_id: int = int32("0+", default=-1)
    topic_id: Uuid = uuid("0+")
    replicas: list[int] = array(int32, "0+", entity="brokerId")
    isr: list[int] = array(int32, "0+")
    removing_replicas: list[int] = array(int32, "0+", entity="brokerId")
    adding_replicas: list[int] = array(int32, "0+", entity="brokerId")
    leader: int = int32("0+", default=-1, entity="brokerId")
    leader_recovery_state: int = int8("0+", tag=0)
    leader_epoch: int = int32("0+", default=-1)
    partition_epoch: int = int32("0+", default=-1)
    directories: list[Uuid] = array(uuid, "1+")
    eligible_leader_replicas: list[int] | None = array(
        int32,
        "2+",
        nullable="2+",
        default=None,
        tag=1,
        entity="brokerId",
    )
    last_known_elr: list[int] | None = array(
        int32,
        "2+",
        nullable="2+",
        default=None,
        tag=2,
        entity="brokerId",
    )


class ConfigRecord(MetadataRecord, api_key=4, versions="0", flexible="0+"):
    resource_type: int = int8("0+")
    resource_name: str = string("0+")
    name: str = string("0+")
    value: str | None = string("0+", nullable="0+")


class PartitionChangeRecord(MetadataRecord, api_key=5, versions="0-2", flexible="0+"):
    partition_id: int = int32("0+", default=-1)
    topic_id: Uuid = uuid("0+")
    isr: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        tag=0,
        entity="brokerId",
    )
    leader: int = int32("0+", default=-2, tag=1, entity="brokerId")
    replicas: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        tag=2,
        entity="brokerId",
    )
    removing_replicas: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        tag=3,
        entity="brokerId",
    )
    adding_replicas: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        tag=4,
        entity="brokerId",
    )
    leader_recovery_state: int = int8("0+", default=-1, tag=5)
    directories: list[Uuid] | None = array(uuid, "1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas: list[int] | None = array(
        int32,
        "2+",
        nullable="2+",
        default=None,
        tag=6,
        entity="brokerId",
    )
    last_known_elr: list[int] | None = array(
        int32,
        "2+",
        nullable="2+",
        default=None,
        tag=7,
        entity="brokerId",
    )


class FenceBrokerRecord(MetadataRecord, api_key=7, versions="0", flexible="0+"):
    id: int = int32("0+", entity="brokerId")
    epoch: int = int64("0+")


class UnfenceBrokerRecord(MetadataRecord, api_key=8, versions="0", flexible="0+"):
    id: int = int32("0+", entity="brokerId")
    epoch: int = int64("0+")


class RemoveTopicRecord(MetadataRecord, api_key=9, versions="0", flexible="0+"):
    topic_id: Uuid = uuid("0+")


class DelegationTokenRecord(MetadataRecord, api_key=10, versions="0", flexible="0+"):
    owner: str = string("0+")
    requester: str = string("0+")
    renewers: list[str] = array(string, "0+")
    issue_timestamp: int = int64("0+")
    max_timestamp: int = int64("0+")
    expiration_timestamp: int = int64("0+")
    token_id: str = string("0+")


class UserScramCredentialRecord(MetadataRecord, api_key=11, versions="0", flexible="0+"):
    name: str = string("0+")
    mechanism: int = int8("0+")
    salt: bytes = binary("0+")
    stored_key: bytes = binary("0+")
    server_key: bytes = binary("0+")
    iterations: int = int32("0+")


class FeatureLevelRecord(MetadataRecord, api_key=12, versions="0", flexible="0+"):
    name: str = string("0+")
    feature_level: int = int16("0+")


class EntityData(Struct):
    entity_type: str = string("0+")
    entity_name: str | None = string("0+", nullable="0+")


class ClientQuotaRecord(MetadataRecord, api_key=14, versions="0", flexible="0+"):
    entity: list[EntityData] = array(EntityData, "0+")
    key: str = string("0+")
    value: float = float64("0+")
    remove: bool = boolean("0+")


class ProducerIdsRecord(MetadataRecord, api_key=15, versions="0", flexible="0+"):
    broker_id: int = int32("0+", entity="brokerId")
    broker_epoch: int = int64("0+", default=-1)
    next_producer_id: int = int64("0+")


class BrokerRegistrationChangeRecord(MetadataRecord, api_key=17, versions="0-3", flexible="0+"):
    broker_id: int = int32("0+", entity="brokerId")
    broker_epoch: int = int64("0+")
    fenced: int = int8("0+", tag=0)
    in_controlled_shutdown: int = int8("1+", tag=1)
    log_dirs: list[Uuid] = array(uuid, "2+", tag=2)
    cordoned_log_dirs: list[Uuid] | None = array(uuid, "3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(MetadataRecord, api_key=18, versions="0", flexible="0+"):
    id: Uuid = uuid("0+")
    resource_type: int = int8("0+")
    resource_name: str = string("0+")
    pattern_type: int = int8("0+")
    principal: str = string("0+")
    host: str = string("0+")
    operation: int = int8("0+")
    permission_type: int = int8("0+")


class RemoveAccessControlEntryRecord(MetadataRecord, api_key=19, versions="0", flexible="0+"):
    id: Uuid = uuid("0+")


class NoOpRecord(MetadataRecord, api_key=20, versions="0", flexible="0+"):
    pass


class ZkMigrationStateRecord(MetadataRecord, api_key=21, versions="0", flexible="0+"):
    zk_migration_state: int = int8("0+")


class RemoveUserScramCredentialRecord(MetadataRecord, api_key=22, versions="0", flexible="0+"):
    name: str = string("0+")
    mechanism: int = int8("0+")


class BeginTransactionRecord(MetadataRecord, api_key=23, versions="0", flexible="0+"):
    name: str | None = string("0+", nullable="0+", default=None, tag=0)


class EndTransactionRecord(MetadataRecord, api_key=24, versions="0", flexible="0+"):
    pass


class AbortTransactionRecord(MetadataRecord, api_key=25, versions="0", flexible="0+"):
    reason: str | None = string("0+", nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(MetadataRecord, api_key=26, versions="0", flexible="0+"):
    token_id: str = string("0+")


class ControllerEndpoint(Struct):
    name: str = string("0+", map_key=True)
    host: str = string("0+")
    port: int = uint16("0+")
    security_protocol: int = int16("0+")


class ControllerFeature(Struct):
    name: str = string("0+", map_key=True)
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class RegisterControllerRecord(MetadataRecord, api_key=27, versions="0", flexible="0+"):
    controller_id: int = int32("0+")
    incarnation_id: Uuid = uuid("0+")
    zk_migration_ready: bool = boolean("0+")
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint, "0+")
    features: list[ControllerFeature] = array(ControllerFeature, "0+")


class ClearElrRecord(MetadataRecord, api_key=28, versions="0", flexible="0+"):
    topic_name: str = string("0+", entity="topicName")


class UnregisterControllerRecord(MetadataRecord, api_key=29, versions="0", flexible="0+"):
    controller_id: int = int32("0+")

"""Typed views of settings: what the rest of the code reads.

A topic key's value is the topic's own override, else the broker's setting of a synonym, else the
default. Views are made once for each change of settings and read on every append, so they hold
plain parsed values under the names of Kafka's keys. They are named tuples, changed with `_replace`:
dataclasses of so many fields cost three times as much to import, and every start pays that.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kafkalite.config.broker_keys import BROKER_KEYS
from kafkalite.config.keys import ASSIGNORS, ConfigKey, Value
from kafkalite.config.topic_keys import TOPIC_KEYS
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.records.batch import TimestampType
from kafkalite.types import BrokerId

_ANY_ID = -1
"""`broker.id` where ZooKeeper was to give one."""
_OWN_PREFIX = "kafkalite."
_INTERNAL_SEGMENT_BYTES = "internal.segment.bytes"
_NOT_IN_VIEW = ("remote.", "local.", "errors.", "internal.")


class TopicConfig(NamedTuple):
    """The settings of one topic. `TopicConfig()` has Kafka's defaults."""

    segment_bytes: int = 1 << 30
    """`internal.segment.bytes` where a test sets it."""
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    retention_bytes: int = -1
    """Negative: no limit."""
    retention_ms: int = 604_800_000
    """-1: no limit."""
    max_message_bytes: int = 1_048_588
    max_decompressed_message_bytes: int = 2_147_483_639
    index_interval_bytes: int = 4096
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    file_delete_delay_ms: int = 60_000
    min_cleanable_dirty_ratio: float = 0.5
    cleanup_policy: tuple[str, ...] = ("delete",)
    """`compact`, `delete`, both or neither."""
    unclean_leader_election_enable: bool = False
    min_insync_replicas: int = 1
    compression_type: str = "producer"
    """`producer`, `uncompressed` or a codec's name."""
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 3_600_000
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    follower_replication_throttled_replicas: tuple[str, ...] = ()

    @classmethod
    def of(cls, overrides: Mapping[str, str], broker: "BrokerConfig") -> "TopicConfig":
        """The topic's `overrides` over what `broker` gives.

        Names that are no topic key are passed over, as an older or newer release may have written
        them. `KafkaError(INVALID_CONFIG)` for a value that `validate_topic_config` refuses.
        """
        if not overrides:
            return broker.topic_defaults
        config = _apply_topic_values(
            broker.topic_defaults,
            {
                key.name: key.parse(overrides[key.name])
                for key in TOPIC_KEYS.values()
                if key.name in overrides
            },
        )
        return config.synced_at_once() if broker.kafkalite_fsync else config

    def synced_at_once(self) -> "TopicConfig":
        """As it is with `kafkalite.fsync`: nothing is committed before it is on the disk."""
        return self._replace(flush_messages=1)

    @property
    def is_compacted(self) -> bool:
        """Whether the last record of each key is kept and others may go."""
        return "compact" in self.cleanup_policy

    @property
    def is_deleted_by_age(self) -> bool:
        """Whether retention (time and size) removes segments."""
        return "delete" in self.cleanup_policy


class BrokerConfig(NamedTuple):
    """The settings of one broker. `BrokerConfig()` has the defaults."""

    node_id: BrokerId = BrokerId(1)
    broker_rack: str | None = None
    listeners: tuple[str, ...] = ("PLAINTEXT://:9092",)
    advertised_listeners: tuple[str, ...] | None = None
    """None: each client is told the address that it has reached."""
    controller_listener_names: tuple[str, ...] | None = None
    """Those of `listeners` that this broker does not listen on; None: it does on all."""
    listener_security_protocol_map: str = (
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
    )
    log_dirs: tuple[str, ...] = ("kafkalite-data",)
    cordoned_log_dirs: tuple[str, ...] = ()
    metadata_log_dir: str | None = None
    auto_create_topics_enable: bool = True
    delete_topic_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    auto_leader_rebalance_enable: bool = True
    controlled_shutdown_enable: bool = True
    inter_broker_listener_name: str | None = None
    security_inter_broker_protocol: str = "PLAINTEXT"
    ssl_keystore_type: str = "JKS"
    """What the `ssl_` ones mean, `config.tls` says; those of one listener are in `settings`."""
    ssl_keystore_location: str | None = None
    ssl_keystore_password: str | None = None
    ssl_key_password: str | None = None
    ssl_keystore_key: str | None = None
    ssl_keystore_certificate_chain: str | None = None
    ssl_truststore_type: str = "JKS"
    ssl_truststore_location: str | None = None
    ssl_truststore_password: str | None = None
    ssl_truststore_certificates: str | None = None
    ssl_client_auth: str = "none"
    ssl_enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ssl_protocol: str = "TLSv1.3"
    ssl_cipher_suites: tuple[str, ...] = ()
    ssl_endpoint_identification_algorithm: str = "https"
    sasl_enabled_mechanisms: tuple[str, ...] = ("GSSAPI",)
    """See `config.sasl`; what stands for one listener or mechanism alone is in `settings`."""
    sasl_mechanism_inter_broker_protocol: str = "GSSAPI"
    sasl_server_max_receive_size: int = 524_288
    kafkalite_java_security_auth_login_config: str | None = None
    connections_max_reauth_ms: int = 0
    connection_failed_authentication_delay_ms: int = 100
    leader_imbalance_check_interval_seconds: int = 300
    unclean_leader_election_interval_ms: int = 300_000
    socket_request_max_bytes: int = 104_857_600
    socket_send_buffer_bytes: int = 262_144
    socket_receive_buffer_bytes: int = 102_400
    socket_listen_backlog_size: int = 1024
    connections_max_idle_ms: int = 600_000
    max_connections: int = 2**31 - 1
    max_connections_per_ip: int = 2**31 - 1
    max_connections_per_ip_overrides: str = ""
    """See `config.listeners.parse_ip_limits`."""
    queued_max_requests: int = 500
    request_timeout_ms: int = 30_000
    fetch_max_bytes: int = 57_671_680
    max_incremental_fetch_session_cache_slots: int = 1000
    max_request_partition_size_limit: int = 2000
    log_retention_check_interval_ms: int = 300_000
    log_cleaner_enable: bool = True
    log_cleaner_threads: int = 1
    log_cleaner_backoff_ms: int = 15_000
    log_cleaner_dedupe_buffer_size: int = 134_217_728
    """Bytes."""
    log_cleaner_io_buffer_load_factor: float = 0.9
    log_cleaner_io_buffer_size: int = 524_288
    """Bytes."""
    log_cleaner_io_max_bytes_per_second: float = 1.7976931348623157e308
    log_initial_task_delay_ms: int = 30_000
    log_flush_scheduler_interval_ms: int = 2**63 - 1
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    producer_id_expiration_ms: int = 86_400_000
    producer_id_expiration_check_interval_ms: int = 600_000
    replica_lag_time_max_ms: int = 30_000
    replica_selector_class: str | None = None
    """A Java class; see `replica.read_replica`."""
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_min_bytes: int = 1
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 1000
    replica_high_watermark_checkpoint_interval_ms: int = 5000
    group_consumer_assignment_interval_ms: int = 0
    group_consumer_assignors: tuple[str, ...] = ASSIGNORS
    group_consumer_heartbeat_interval_ms: int = 500
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_migration_policy: str = "bidirectional"
    """In upper or lower case."""
    group_consumer_min_heartbeat_interval_ms: int = 100
    group_consumer_min_session_timeout_ms: int = 1000
    group_consumer_session_timeout_ms: int = 10_000
    group_coordinator_rebalance_protocols: tuple[str, ...] = ("classic", "consumer", "streams")
    group_initial_rebalance_delay_ms: int = 0
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2**31 - 1
    group_min_session_timeout_ms: int = 6_000
    offset_metadata_max_bytes: int = 4096
    offsets_commit_timeout_ms: int = 5000
    offsets_load_buffer_size: int = 5_242_880
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_compression_codec: int = 0
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_topic_segment_bytes: int = 104_857_600
    transaction_max_timeout_ms: int = 900_000
    transaction_partition_verification_enable: bool = True
    transactional_id_expiration_ms: int = 604_800_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_state_log_load_buffer_size: int = 5_242_880
    transaction_state_log_num_partitions: int = 50
    transaction_state_log_replication_factor: int = 3
    transaction_state_log_min_isr: int = 2
    transaction_state_log_segment_bytes: int = 104_857_600
    share_coordinator_state_topic_num_partitions: int = 50
    share_coordinator_state_topic_replication_factor: int = 3
    share_coordinator_state_topic_min_isr: int = 2
    share_coordinator_state_topic_segment_bytes: int = 104_857_600
    metadata_log_segment_bytes: int = 1 << 30
    metadata_log_segment_ms: int = 604_800_000
    metadata_log_max_record_bytes_between_snapshots: int = 20_971_520
    metadata_log_max_snapshot_interval_ms: int = 3_600_000
    metadata_max_retention_bytes: int = 104_857_600
    metadata_max_retention_ms: int = 604_800_000
    kafkalite_clamp_replication: bool = False
    kafkalite_cluster_id: str | None = None
    """Of a new data folder; None: a random one."""
    kafkalite_fsync: bool = False
    kafkalite_group_evict_on_disconnect: bool = False
    kafkalite_record_validation: str = "header"
    """`header` or `full`."""
    kafkalite_zookeeper_digest: str | None = None
    """`user:password`; None: nobody logs in."""
    topic_defaults: TopicConfig = TopicConfig()
    """What topics have that set nothing."""
    settings: Mapping[str, str] = MappingProxyType({})
    """What was set, as text: DescribeConfigs tells it from defaults."""

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "BrokerConfig":
        """The view of `settings` (texts by Kafka's names) over the defaults.

        Kafka's other keys are kept and have no effect. `KafkaError(INVALID_CONFIG)` for a value
        that its key does not take, and for an unknown name that begins with `kafkalite.`.
        """
        values: dict[str, Value] = {}
        for name, text in settings.items():
            key = BROKER_KEYS.get(name)
            if key is not None:
                values[name] = key.parse(text)
            elif name.startswith(_OWN_PREFIX):
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown broker config name: {name}")
        # The table and the fields are held against each other by a test, not by types.
        fields: dict[str, Any] = {
            _field_name(name): value for name, value in values.items() if name in _BROKER_FIELDS
        }
        if "log.dirs" not in values and "log.dir" in values:
            fields["log_dirs"] = values["log.dir"]
        node_id = _node_id(values)
        if node_id is not None and node_id != _ANY_ID:
            fields["node_id"] = node_id
            settings = _with_both_ids(settings)
        _check_cluster_id(fields.get("kafkalite_cluster_id"))
        defaults = _topic_defaults(values)
        if fields.get("kafkalite_fsync"):
            defaults = defaults.synced_at_once()
        return cls(**fields, topic_defaults=defaults, settings=dict(settings))


def _with_both_ids(settings: Mapping[str, str]) -> dict[str, str]:
    """`settings`, where `node.id` and `broker.id` stand for each other, as clients are shown."""
    return {
        **({"broker.id": settings["node.id"]} if "node.id" in settings else {}),
        **({"node.id": settings["broker.id"]} if "broker.id" in settings else {}),
        **settings,
    }


def _node_id(values: Mapping[str, Value]) -> Value | None:
    """What one of its names or both say; None: nothing."""
    node_id, broker_id = values.get("node.id"), values.get("broker.id")
    if node_id is not None and broker_id is not None and node_id != broker_id:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, "
            "please use `node.id` instead.",
        )
    return node_id if node_id is not None else broker_id


def _check_cluster_id(cluster_id: str | None) -> None:
    """Kafka takes any text, and escapes it in `meta.properties`."""
    if cluster_id is None:
        return
    if not cluster_id or not cluster_id.isascii() or not cluster_id.isprintable():
        allowed = False
    else:
        allowed = " " not in cluster_id and "\\" not in cluster_id
    if not allowed:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Invalid value {cluster_id} for configuration kafkalite.cluster.id: "
            f"Allowed are {BROKER_KEYS['kafkalite.cluster.id'].form}",
        )


def validate_topic_config(overrides: Mapping[str, str], broker: BrokerConfig | None = None) -> None:
    """Refuse what a topic may not set: `KafkaError(INVALID_CONFIG)` with Kafka's message.

    `overrides` is all that the topic would have, not only what changes. Of several faults Kafka's
    first is told: unknown names, then values in the order of the keys, then values at odds.
    """
    unknown = [name for name in overrides if name not in TOPIC_KEYS]
    if unknown:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {min(unknown)}")
    config = TopicConfig.of(overrides, broker or BrokerConfig())
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms})"
            f" > max.compaction.lag.ms ({config.max_compaction_lag_ms})",
        )
    remote = overrides.get("remote.storage.enable", "false")
    if TOPIC_KEYS["remote.storage.enable"].parse(remote):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )


def _topic_defaults(broker_values: Mapping[str, Value]) -> TopicConfig:
    """What topics get from the broker's own settings."""
    values: dict[str, Value] = {}
    for key in TOPIC_KEYS.values():
        value = _from_synonyms(key, broker_values)
        if value is not None:
            values[key.name] = value
    return _apply_topic_values(TopicConfig(), values)


def _from_synonyms(key: ConfigKey, broker_values: Mapping[str, Value]) -> Value | None:
    """The first synonym that is set, in the topic key's unit."""
    for name, factor in key.synonyms:
        value = broker_values.get(name)
        if value is not None:
            return value * factor if isinstance(value, int) and factor != 1 else value
    return None


def _apply_topic_values(base: TopicConfig, values: Mapping[str, Value]) -> TopicConfig:
    """`base` with `values`, by Kafka's names; those without a field are left out."""
    # The table and the fields are held against each other by a test, not by types.
    fields: dict[str, Any] = {
        _field_name(name): value
        for name, value in values.items()
        if not name.startswith(_NOT_IN_VIEW)
    }
    if _INTERNAL_SEGMENT_BYTES in values:
        fields["segment_bytes"] = values[_INTERNAL_SEGMENT_BYTES]
    timestamp_type = values.get("message.timestamp.type")
    if timestamp_type is not None:
        fields["message_timestamp_type"] = (
            TimestampType.LOG_APPEND_TIME
            if timestamp_type == "LogAppendTime"
            else TimestampType.CREATE_TIME
        )
    return base._replace(**fields)


def _field_name(name: str) -> str:
    return name.replace(".", "_")


_BROKER_FIELDS = frozenset(
    name for name in BROKER_KEYS if _field_name(name) in BrokerConfig._fields
)

"""All APIs that this broker serves, in key order. Dispatch, ApiVersions, docs and tests read
this."""

from __future__ import annotations

from kafkalite.server.apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_replica_log_dirs,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
    update_features,
    write_txn_markers,
)
from kafkalite.server.apis.api import ApiModule

APIS: tuple[ApiModule, ...] = (
    produce,  # 0
    fetch,  # 1
    list_offsets,  # 2
    metadata,  # 3
    offset_commit,  # 8
    offset_fetch,  # 9
    find_coordinator,  # 10
    join_group,  # 11
    heartbeat,  # 12
    leave_group,  # 13
    sync_group,  # 14
    describe_groups,  # 15
    list_groups,  # 16
    api_versions,  # 18
    create_topics,  # 19
    delete_topics,  # 20
    delete_records,  # 21
    init_producer_id,  # 22
    offset_for_leader_epoch,  # 23
    add_partitions_to_txn,  # 24
    add_offsets_to_txn,  # 25
    end_txn,  # 26
    write_txn_markers,  # 27
    txn_offset_commit,  # 28
    describe_acls,  # 29
    create_acls,  # 30
    delete_acls,  # 31
    describe_configs,  # 32
    alter_configs,  # 33
    alter_replica_log_dirs,  # 34
    describe_log_dirs,  # 35
    create_partitions,  # 37
    delete_groups,  # 42
    incremental_alter_configs,  # 44
    list_partition_reassignments,  # 46
    offset_delete,  # 47
    describe_quorum,  # 55
    update_features,  # 57
    describe_cluster,  # 60
    describe_producers,  # 61
    describe_transactions,  # 65
    list_transactions,  # 66
    consumer_group_heartbeat,  # 68
    consumer_group_describe,  # 69
    list_config_resources,  # 74
    describe_topic_partitions,  # 75
)

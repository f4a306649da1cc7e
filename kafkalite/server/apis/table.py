"""All APIs that this broker serves, in key order. Dispatch, ApiVersions, docs and tests read
this."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Final, cast, overload

from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.api_versions import ApiVersion
from kafkalite.server.apis.api import ApiModule


class ApiTable(Sequence[ApiModule]):
    """The modules of this folder, named as their keys. Each is loaded when it is asked for: with
    their messages they are many, and a client uses ten."""

    def __init__(self, keys: tuple[ApiKey, ...]) -> None:
        self._names = {int(key): f"{__package__}.{key.name.lower()}" for key in keys}
        self._loaded: dict[int, ApiModule] = {}

    def find(self, key: int) -> ApiModule | None:
        """Who answers requests of that key; None where it is not served. `OSError` when it is to be
        loaded, and no file can be opened."""
        found = self._loaded.get(key)
        if found is None and key in self._names:
            # A module is no class: whether it has what `ApiModule` names, tests of the table see.
            found = self._loaded[key] = cast("ApiModule", import_module(self._names[key]))
        return found

    def load_one_more(self) -> bool:
        """Load one that nobody has asked for yet; False when there is none left."""
        for key in self._names:
            if key not in self._loaded:
                self.find(key)
                return True
        return False

    @overload
    def __getitem__(self, index: int) -> ApiModule: ...
    @overload
    def __getitem__(self, index: slice) -> list[ApiModule]: ...
    def __getitem__(self, index: int | slice) -> ApiModule | list[ApiModule]:
        """In the order of the keys."""
        for key in self._names:
            self.find(key)
        return [self._loaded[key] for key in self._names][index]

    def __len__(self) -> int:
        return len(self._names)


APIS: Final = ApiTable(
    (
        ApiKey.PRODUCE,  # 0
        ApiKey.FETCH,  # 1
        ApiKey.LIST_OFFSETS,  # 2
        ApiKey.METADATA,  # 3
        ApiKey.OFFSET_COMMIT,  # 8
        ApiKey.OFFSET_FETCH,  # 9
        ApiKey.FIND_COORDINATOR,  # 10
        ApiKey.JOIN_GROUP,  # 11
        ApiKey.HEARTBEAT,  # 12
        ApiKey.LEAVE_GROUP,  # 13
        ApiKey.SYNC_GROUP,  # 14
        ApiKey.DESCRIBE_GROUPS,  # 15
        ApiKey.LIST_GROUPS,  # 16
        ApiKey.SASL_HANDSHAKE,  # 17
        ApiKey.API_VERSIONS,  # 18
        ApiKey.CREATE_TOPICS,  # 19
        ApiKey.DELETE_TOPICS,  # 20
        ApiKey.DELETE_RECORDS,  # 21
        ApiKey.INIT_PRODUCER_ID,  # 22
        ApiKey.OFFSET_FOR_LEADER_EPOCH,  # 23
        ApiKey.ADD_PARTITIONS_TO_TXN,  # 24
        ApiKey.ADD_OFFSETS_TO_TXN,  # 25
        ApiKey.END_TXN,  # 26
        ApiKey.WRITE_TXN_MARKERS,  # 27
        ApiKey.TXN_OFFSET_COMMIT,  # 28
        ApiKey.DESCRIBE_ACLS,  # 29
        ApiKey.CREATE_ACLS,  # 30
        ApiKey.DELETE_ACLS,  # 31
        ApiKey.DESCRIBE_CONFIGS,  # 32
        ApiKey.ALTER_CONFIGS,  # 33
        ApiKey.ALTER_REPLICA_LOG_DIRS,  # 34
        ApiKey.DESCRIBE_LOG_DIRS,  # 35
        ApiKey.SASL_AUTHENTICATE,  # 36
        ApiKey.CREATE_PARTITIONS,  # 37
        ApiKey.DELETE_GROUPS,  # 42
        ApiKey.ELECT_LEADERS,  # 43
        ApiKey.INCREMENTAL_ALTER_CONFIGS,  # 44
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,  # 45
        ApiKey.LIST_PARTITION_REASSIGNMENTS,  # 46
        ApiKey.OFFSET_DELETE,  # 47
        ApiKey.DESCRIBE_CLIENT_QUOTAS,  # 48
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,  # 50
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,  # 51
        ApiKey.DESCRIBE_QUORUM,  # 55
        ApiKey.UPDATE_FEATURES,  # 57
        ApiKey.DESCRIBE_CLUSTER,  # 60
        ApiKey.DESCRIBE_PRODUCERS,  # 61
        ApiKey.UNREGISTER_BROKER,  # 64
        ApiKey.DESCRIBE_TRANSACTIONS,  # 65
        ApiKey.LIST_TRANSACTIONS,  # 66
        ApiKey.CONSUMER_GROUP_HEARTBEAT,  # 68
        ApiKey.CONSUMER_GROUP_DESCRIBE,  # 69
        ApiKey.LIST_CONFIG_RESOURCES,  # 74
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,  # 75
    )
)


def listed(modules: Iterable[ApiModule]) -> list[ApiVersion]:
    """As ApiVersions lists them."""
    found = []
    for module in sorted(modules, key=lambda each: each.API.key):
        api = module.API
        least = (
            api.min_version if api.advertised_min_version is None else api.advertised_min_version
        )
        found.append(ApiVersion(api_key=api.key, min_version=least, max_version=api.max_version))
    return found

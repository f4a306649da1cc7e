"""All APIs that this broker serves, in key order. Dispatch, ApiVersions, docs and tests read
this."""

from __future__ import annotations

from kafkalite.server.apis import (
    api_versions,
    create_topics,
    delete_topics,
    fetch,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)
from kafkalite.server.apis.api import ApiModule

APIS: tuple[ApiModule, ...] = (
    produce,  # 0
    fetch,  # 1
    list_offsets,  # 2
    metadata,  # 3
    api_versions,  # 18
    create_topics,  # 19
    delete_topics,  # 20
    init_producer_id,  # 22
)

"""Topics that a broker is to have from the start, made as a client would make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkalite.errors import ErrorCode
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.testing.client import Client

_VERSION = 7
_WITHIN_MS = 20_000


async def create_topics(
    network: Network,
    address: Address,
    topics: Mapping[str, int],
    configs: Mapping[str, str],
    *,
    allowed: Sequence[ErrorCode] = (),
) -> list[str]:
    """Topics of these settings, by name and partitions (-1: as many as the broker says). Gives the
    refusals, each in words for a person; `allowed` ones are none."""
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=-1,
                configs=[CreatableTopicConfig(name=k, value=v) for k, v in configs.items()],
            )
            for name, partitions in topics.items()
        ],
        timeout_ms=_WITHIN_MS,
    )
    client = await Client.connect(network, address, "kafkalite-topics")
    try:
        response = await client.ask(request, _VERSION, CreateTopicsResponse)
    finally:
        client.close()
    refusals = []
    for topic in response.topics:
        code = ErrorCode(topic.error_code)
        if code not in (ErrorCode.NONE, *allowed):
            why = topic.error_message or code.name
            refusals.append(f"topic {topic.name!r} cannot be created: {why}")
    return refusals

"""How records stand in a partition, by a raw Fetch: what no client tells."""

from __future__ import annotations

import asyncio

from kafkalite.ports.clock import RealClock
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, read_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.testing.client import Client

VERSION = 11


def stored_codecs(bootstrap: str, topic: str) -> set[Compression]:
    """Of all batches in partition 0."""
    return {header.compression for header in asyncio.run(_headers(bootstrap, topic))}


def stored_producers(bootstrap: str, topic: str) -> set[int]:
    """Producer ids of all batches in partition 0; -1 is that of a producer that is not
    idempotent."""
    return {header.producer_id for header in asyncio.run(_headers(bootstrap, topic))}


async def _headers(bootstrap: str, topic: str) -> list[BatchHeader]:
    host, _, port = bootstrap.rpartition(":")
    client = await Client.connect(SocketNetwork(RealClock()), Address(host, int(port)))
    headers: list[BatchHeader] = []
    while True:
        start = headers[-1].next_offset if headers else 0
        partition = FetchPartition(fetch_offset=start, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        )
        response = await client.ask(request, VERSION, FetchResponse)
        answer = response.responses[0].partitions[0]
        assert answer.error_code == 0, answer
        records = answer.records
        assert isinstance(records, bytes | memoryview)
        if not records:
            client.close()
            return headers
        position = 0
        while len(records) - position >= HEADER_SIZE:
            header = read_header(records, position)
            if len(records) - position >= header.size_bytes:
                headers.append(header)
            position += header.size_bytes

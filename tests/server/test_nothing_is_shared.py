"""Brokers of one process share no object but the metadata store, the network and the ports that a
test gives to all of them: what one does to its objects can never be seen by another but through
these. Whoever hands one object to two brokers, as a cache or as a short cut, is told here."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import functools
import gc
import logging
import types
from collections.abc import Iterable

from kafkalite.log.partition_log import PartitionLog
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.memory_link import MemoryLink
from kafkalite.ports.network_memory import MemoryNode
from kafkalite.server.apis.table import ApiTable
from kafkalite.server.partition import Partition
from kafkalite.server.peer_connection import PeerConnection
from kafkalite.server.receive_buffer import _NO_BYTES
from kafkalite.server.replica_fetcher import ReplicaFetcher
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import three_brokers

WITHOUT_STATE = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType,
    types.MappingProxyType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType, str, bytes, int, float, bool,
    type(None), enum.Enum, logging.Logger, property, classmethod, staticmethod,
    functools.cached_property, functools._lru_cache_wrapper, ApiTable,
)  # fmt: skip
"""Code and constants: nobody changes them, but for modules that are found as they are needed."""
BETWEEN_THEM = (MetadataImage, MetadataDelta, MemoryLink, MemoryNode, contextvars.Context)
"""What the store gives to all, which never changes, and what the network has; asyncio's own."""


def reachable(start: object, roots: Iterable[object]) -> dict[int, object]:
    """All that has state and is reached from `start`, without passing through `roots`."""
    seen: dict[int, object] = {}
    stop = {id(each) for each in roots}
    coming = [start]
    while coming:
        each = coming.pop()
        if id(each) in seen or id(each) in stop:
            continue
        if isinstance(each, (*WITHOUT_STATE, *BETWEEN_THEM)):
            if isinstance(each, types.FunctionType) and each.__closure__:
                coming += each.__closure__
            continue
        seen[id(each)] = each
        coming += gc.get_referents(each)
    return seen


def has_state(thing: object) -> bool:
    """Immutable and without references to others: sharing it is no sharing."""
    return not (isinstance(thing, tuple | frozenset) and not any(map(gc.is_tracked, thing)))


@simulated
async def test_brokers_share_the_store_and_the_network_alone(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3], [2, 3, 1])
        await cluster.wrote("t", b"a")
        await cluster.replicated("t", 2, 3)
        roots = [
            cluster, cluster.store, simulation, simulation.clock, simulation.entropy,
            simulation.network, asyncio.get_running_loop(), *asyncio.all_tasks(), _NO_BYTES,
        ]  # fmt: skip
        one, two, three = (reachable(cluster.brokers[id], roots) for id in (1, 2, 3))
        for found in (one, two, three):
            kinds = {type(each) for each in found.values()}
            assert {Partition, PartitionLog, ReplicaFetcher, PeerConnection} <= kinds
        both = (one.keys() & two.keys()) | (one.keys() & three.keys()) | (two.keys() & three.keys())
        everything = one | two | three
        shared = [everything[key] for key in both if has_state(everything[key])]
        assert [(type(each).__name__, str(each)[:200]) for each in shared] == []

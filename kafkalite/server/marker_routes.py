"""Markers of a transaction that has ended, each to whoever leads its partition: a request for each
other broker, with all of that broker's partitions.

Kafka differs: it puts the markers of all transactions that end at about the same time in one
request to a broker. Here each transaction has its own.

Source: Kafka's `TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkalite.protocol.schema import Response
from kafkalite.server.peers import Peers
from kafkalite.server.transaction_markers import Marker, Markers, OnCodes
from kafkalite.types import NO_LEADER, BrokerId, TopicPartition

PURPOSE: Final = "markers"


class MarkerRoutes:
    """See `Markers`."""

    def __init__(
        self,
        broker_id: BrokerId,
        here: Markers,
        peers: Peers,
        image: Callable[[], MetadataImage],
    ) -> None:
        """`here` writes to partitions that this broker leads."""
        self._broker_id = broker_id
        self._here = here
        self._peers = peers
        self._image = image

    def write(
        self,
        marker: Marker,
        partitions: Iterable[TopicPartition],
        timeout_ms: int,
        on_codes: OnCodes,
    ) -> None:
        """See `Markers`. LEADER_NOT_AVAILABLE for a partition that nobody leads, and the code of
        the connection for those of a broker that cannot be asked."""
        routes = self._routes(partitions)
        codes: dict[TopicPartition, ErrorCode] = {}
        missing = len(routes)
        if not missing:
            on_codes(codes)

        def on_some(some: dict[TopicPartition, ErrorCode]) -> None:
            nonlocal missing
            codes.update(some)
            missing -= 1
            if not missing:
                on_codes(codes)

        for leader, to in routes.items():
            if leader == self._broker_id:
                self._here.write(marker, to, timeout_ms, on_some)
            elif leader == NO_LEADER:
                on_some(dict.fromkeys(to, ErrorCode.LEADER_NOT_AVAILABLE))
            else:
                self._peers.ask(
                    leader,
                    WriteTxnMarkersRequest(markers=[_writable(marker, to)]),
                    partial(_told, to, on_some),
                    timeout_ms=timeout_ms,
                    purpose=PURPOSE,
                )

    def _routes(self, partitions: Iterable[TopicPartition]) -> dict[BrokerId, list[TopicPartition]]:
        """By leader; those that are not there any more are for this broker to say so."""
        image = self._image()
        routes: dict[BrokerId, list[TopicPartition]] = {}
        for each in sorted(partitions):
            found = image.partition(each.topic, each.partition)
            leader = self._broker_id if found is None else found.leader
            routes.setdefault(leader, []).append(each)
        return routes


def _writable(marker: Marker, to: list[TopicPartition]) -> WritableTxnMarker:
    indexes: dict[str, list[int]] = {}
    for each in to:
        indexes.setdefault(each.topic, []).append(each.partition)
    return WritableTxnMarker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transaction_result=marker.commits,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=of_topic)
            for name, of_topic in indexes.items()
        ],
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.protocol_version,
    )


def _told(to: list[TopicPartition], on_some: OnCodes, reply: Response | KafkaError) -> None:
    """What an answer leaves out has to be asked for again."""
    if isinstance(reply, KafkaError):
        on_some(dict.fromkeys(to, reply.code))
        return
    assert isinstance(reply, WriteTxnMarkersResponse), reply
    codes = dict.fromkeys(to, ErrorCode.REQUEST_TIMED_OUT)
    for marker in reply.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                codes[TopicPartition(topic.name, each.partition_index)] = ErrorCode(each.error_code)
    on_some(codes)

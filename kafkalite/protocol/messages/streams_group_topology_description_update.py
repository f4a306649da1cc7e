# Made by tools/generate_messages.py, digest 82c31c47371ad94d; do not edit.
"""StreamsGroupTopologyDescriptionUpdate, API key 93: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int8, string, struct
from kafkalite.protocol.schema import Request, Response, Struct


class TopologyDescriptionNode(Struct):
    name: str = string("0+")
    node_type: int = int8("0+")
    source_topics: list[str] = array(string, "0+", entity="topicName")
    sink_topic: str | None = string("0+", nullable="0+", default=None, entity="topicName")
    stores: list[str] = array(string, "0+")
    successors: list[str] = array(string, "0+")


class TopologyDescriptionSubtopology(Struct):
    subtopology_id: str = string("0+")
    nodes: list[TopologyDescriptionNode] = array(TopologyDescriptionNode, "0+")


class TopologyDescriptionGlobalStore(Struct):
    source: TopologyDescriptionNode = struct(TopologyDescriptionNode, "0+")
    processor: TopologyDescriptionNode = struct(TopologyDescriptionNode, "0+")


class TopologyDescription(Struct):
    subtopologies: list[TopologyDescriptionSubtopology] = array(
        TopologyDescriptionSubtopology,
        "0+",
    )
    global_stores: list[TopologyDescriptionGlobalStore] = array(
        TopologyDescriptionGlobalStore,
        "0+",
    )


class StreamsGroupTopologyDescriptionUpdateRequest(
    Request,
    api_key=93,
    versions="0",
    flexible="0+",
    listeners="broker",
):
    group_id: str = string("0+", entity="groupId")
    member_id: str = string("0+")
    topology_epoch: int = int32("0+")
    topology_description: TopologyDescription = struct(TopologyDescription, "0+")


class StreamsGroupTopologyDescriptionUpdateResponse(
    Response,
    api_key=93,
    versions="0",
    flexible="0+",
):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", default=None)

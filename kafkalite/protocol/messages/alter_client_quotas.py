# Made by tools/generate_messages.py, digest 07e29e1523a56eac; do not edit.
"""AlterClientQuotas, API key 49: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, float64, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class EntityData(Struct):
    entity_type: str = string("0+")
    entity_name: str | None = string("0+", nullable="0+")


class OpData(Struct):
    key: str = string("0+")
    value: float = float64("0+")
    remove: bool = boolean("0+")


class AlterClientQuotasRequestEntryData(Struct):
    entity: list[EntityData] = array(EntityData, "0+")
    ops: list[OpData] = array(OpData, "0+")


class AlterClientQuotasRequest(
    Request,
    api_key=49,
    versions="0-1",
    flexible="1+",
    listeners="broker controller",
):
    entries: list[AlterClientQuotasRequestEntryData] = array(
        AlterClientQuotasRequestEntryData,
        "0+",
    )
    validate_only: bool = boolean("0+")


class AlterClientQuotasResponseEntryData(Struct):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    entity: list[EntityData] = array(EntityData, "0+")


class AlterClientQuotasResponse(Response, api_key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: int = int32("0+")
    entries: list[AlterClientQuotasResponseEntryData] = array(
        AlterClientQuotasResponseEntryData,
        "0+",
    )

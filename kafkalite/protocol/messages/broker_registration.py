# Made by tools/generate_messages.py, digest 234f64956c658b41; do not edit.
"""BrokerRegistration, API key 62: versions 0 to 4, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, string, uint16, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class Listener(Struct):
    name: str = string("0+", map_key=True)
    host: str = string("0+")
    port: int = uint16("0+")
    security_protocol: int = int16("0+")


class Feature(Struct):
    name: str = string("0+", map_key=True)
    min_supported_version: int = int16("0+")
    max_supported_version: int = int16("0+")


class BrokerRegistrationRequest(
    Request,
    api_key=62,
    versions="0-4",
    flexible="0+",
    listeners="controller",
):
    broker_id: int = int32("0+", entity="brokerId")
    cluster_id: str = string("0+")
    incarnation_id: Uuid = uuid("0+")
    listeners: list[Listener] = array(Listener, "0+")
    features: list[Feature] = array(Feature, "0+")
    rack: str | None = string("0+", nullable="0+")
    is_migrating_zk_broker: bool = boolean("1+")
    log_dirs: list[Uuid] = array(uuid, "2+", ignorable=True)
    previous_broker_epoch: int = int64("3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, api_key=62, versions="0-4", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    broker_epoch: int = int64("0+", default=-1)

"""Metadata for tests: short ways to write changes, and the log that the real Kafka left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafkalite.metadata.changes import Change, decode_change
from kafkalite.metadata.delta import Fold
from kafkalite.metadata.draft import fold
from kafkalite.metadata.image import Endpoint, MetadataImage
from kafkalite.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.types import BrokerId, ControllerEpoch, Offset, Uuid

LOG_DIRS = Path(__file__).parent.parent / "data" / "log-dirs"
GOLDEN_LOG = LOG_DIRS / "__cluster_metadata-0" / "00000000000000000000.log"
_PAYLOAD = re.compile(r"offset: (\d+) .* payload: (\{.*\})")


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16))


def topic(name: str, number: int) -> TopicRecord:
    return TopicRecord(name=name, topic_id=uuid(number))


def partition(number: int, index: int, replicas: list[int], **fields: Any) -> PartitionRecord:
    # Any: fields of the record, as its constructor takes them.
    values: dict[str, Any] = {
        "isr": replicas,
        "leader": replicas[0],
        "leader_epoch": 0,
        "partition_epoch": 0,
        "directories": [uuid(100 + id) for id in replicas],
    }
    return PartitionRecord(
        partition_id=index, topic_id=uuid(number), replicas=replicas, **(values | fields)
    )


def registration(id: int, *, epoch: int = 0, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=id,
        incarnation_id=uuid(200 + id),
        broker_epoch=epoch,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"host-{id}", port=9092)],
        features=[
            BrokerFeature(
                name="metadata.version", min_supported_version=7, max_supported_version=33
            )
        ],
        fenced=fenced,
        log_dirs=[uuid(100 + id)],
    )


def endpoint(id: int) -> Endpoint:
    return Endpoint("PLAINTEXT", f"host-{id}", 9092)


def registration_change(id: int, *, fenced: int = 0, **fields: Any) -> Change:
    # Any: as above.
    return BrokerRegistrationChangeRecord(broker_id=id, broker_epoch=0, fenced=fenced, **fields)


def setting(type: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=type, resource_name=resource, name=name, value=value)


def credential(
    user: str, mechanism: int = 1, *, salt: bytes = b"salt"
) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism,
        salt=salt,
        stored_key=b"stored",
        server_key=b"server",
        iterations=4096,
    )


def folded(base: MetadataImage, *changes: Change, end: int = 0) -> Fold:
    return fold(
        base,
        changes,
        end_offset=Offset(end),
        epoch=ControllerEpoch(1),
        controller_id=BrokerId(1),
    )


def image_of(*changes: Change) -> MetadataImage:
    return folded(MetadataImage(), *changes).image


def golden_values() -> Iterator[tuple[int, bytes]]:
    """Offset and value of each record in the real Kafka's log, control records left out."""
    data = GOLDEN_LOG.read_bytes()
    for position, header in iter_headers(data):
        if not header.is_control:
            for record in read_records(data, position, header):
                assert record.value is not None
                yield record.offset, bytes(record.value)


def golden_changes() -> list[Change]:
    return [decode_change(value) for _, value in golden_values()]


def dumped_records() -> dict[int, dict[str, Any]]:
    """What Kafka's own tool printed of the same log, by offset."""
    # Any: JSON.
    found: dict[int, dict[str, Any]] = {}
    for line in GOLDEN_LOG.parent.with_suffix(".txt").read_text().splitlines():
        match = _PAYLOAD.search(line)
        if match is not None:
            found[int(match[1])] = json.loads(match[2])
    return found


def changed(id: Uuid, index: int, **fields: object) -> PartitionChangeRecord:
    """Of one partition; what is not named stays."""
    change = PartitionChangeRecord(partition_id=index, topic_id=id)
    for name, value in fields.items():
        setattr(change, name, value)
    return change

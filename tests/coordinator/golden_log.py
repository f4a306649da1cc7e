"""The `__consumer_offsets` partition that the real Kafka wrote (`tests/data/log-dirs`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkalite.coordinator.groups.log_record import Record, TransactionEnded, decode_record
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.control import read_end_transaction_marker
from kafkalite.protocol.records.record import read_records

FOLDER = Path(__file__).parent.parent / "data" / "log-dirs" / "__consumer_offsets-0"


def golden_bytes() -> Iterator[tuple[bytes, bytes | None]]:
    """Key and value of each record that is no marker."""
    data = (FOLDER / "00000000000000000000.log").read_bytes()
    for position, header in iter_headers(data):
        if not header.is_control:
            for record in read_records(data, position, header):
                assert record.key is not None
                value = None if record.value is None else bytes(record.value)
                yield bytes(record.key), value


def golden_records() -> Iterator[Record | TransactionEnded]:
    """All that a coordinator has to apply, in order."""
    data = (FOLDER / "00000000000000000000.log").read_bytes()
    for position, header in iter_headers(data):
        for record in read_records(data, position, header):
            assert record.key is not None
            if header.is_control:
                marker = read_end_transaction_marker(record)
                assert marker is not None
                yield TransactionEnded(header.producer_id, committed=marker.is_commit)
            else:
                yield decode_record(record.key, record.value, header.producer_id)

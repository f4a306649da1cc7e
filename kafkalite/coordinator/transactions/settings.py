"""The broker's settings about transactions, as one value."""

from __future__ import annotations

from typing import NamedTuple


class TransactionSettings(NamedTuple):
    """The names are Kafka's keys."""

    max_timeout_ms: int = 900_000
    """`transaction.max.timeout.ms`."""
    id_expiration_ms: int = 7 * 24 * 3_600_000
    """`transactional.id.expiration.ms`."""
    expiration_check_interval_ms: int = 3_600_000
    """`transaction.remove.expired.transaction.cleanup.interval.ms`."""

"""How much one request may have the controller do.

Source: `MAX_PARTITIONS_PER_BATCH` and `MAX_RECORDS_PER_USER_OP` of Kafka's controller; the answers
were asked of the real broker.
"""

from __future__ import annotations

MAX_PARTITIONS_PER_REQUEST = 10_000
"""That it may create, new topics and old ones alike."""
MAX_RECORDS_PER_REQUEST = 10_000
"""Inclusive. Whoever would make more has nothing done, but for deletions: as many are done as may
be. The work ends with the first record too many."""
TOO_MANY_RECORDS = "Unable to perform excessively large batch operation."

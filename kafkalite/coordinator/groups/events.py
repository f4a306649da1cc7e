"""What a partition's group coordinator is asked and told, and what it answers, of all kinds of
groups.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import (
    AdministrationBody,
    AdministrationEvent,
)
from kafkalite.coordinator.groups.classic.events import ClassicBody, ClassicEvent
from kafkalite.coordinator.groups.consumer.events import ConsumerBody, ConsumerEvent
from kafkalite.coordinator.groups.offset_events import OffsetBody, OffsetEvent

Event = ClassicEvent | ConsumerEvent | OffsetEvent | AdministrationEvent
Body = ClassicBody | ConsumerBody | OffsetBody | AdministrationBody

"""What a partition's group coordinator is asked and told, and what it answers, of all kinds of
groups: two closed unions.

A `token` names whoever waits for the reply; None where nobody does.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.admin_events import AdminBody, AdminEvent
from kafkalite.coordinator.groups.classic.events import ClassicBody, ClassicEvent
from kafkalite.coordinator.groups.consumer.events import ConsumerBody, ConsumerEvent
from kafkalite.coordinator.groups.offset_events import OffsetBody, OffsetEvent

Event = ClassicEvent | ConsumerEvent | OffsetEvent | AdminEvent
Body = ClassicBody | ConsumerBody | OffsetBody | AdminBody

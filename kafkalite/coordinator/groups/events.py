"""What a partition's group coordinator is asked and told, and what it answers, of all kinds of
groups. Those that any kind may be asked (offsets, lists) are with the classic ones.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import ClassicBody, ClassicEvent
from kafkalite.coordinator.groups.consumer.events import ConsumerBody, ConsumerEvent

Event = ClassicEvent | ConsumerEvent
Body = ClassicBody | ConsumerBody

"""What tests use, kafkalite's own and its users': a broker in the test's process, steerable time,
faults, whole runs in virtual time.

Names are loaded when they are first used: the pytest plugin is imported by every pytest that has
kafkalite installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkalite.testing.broker import Broker as Broker
    from kafkalite.testing.broker import BrokerError as BrokerError
    from kafkalite.testing.cluster import Cluster as Cluster

__all__ = ["Broker", "BrokerError", "Cluster"]


def __getattr__(name: str) -> object:
    if name == "Cluster":
        from kafkalite.testing.cluster import Cluster

        return Cluster
    if name in __all__:
        from kafkalite.testing import broker

        return getattr(broker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

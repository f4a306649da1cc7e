"""What every term of a controller begins with, and what it does by time: the part of the closed
unions in `events.py` that a start needs.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.metadata.store import BrokerRegistration
from kafkalite.types import BrokerEpoch, BrokerId


class RegisterBroker(NamedTuple):
    """A broker's session has registered it. Answered by `BrokerRegistered`, to those who wait."""

    token: Hashable | None
    registration: BrokerRegistration
    broker_epoch: BrokerEpoch


class LoseBroker(NamedTuple):
    """A broker's session is over, or is about to be."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    is_clean: bool = False
    """It stops by itself, and has served its last request."""
    token: None = None


class StartTerm(NamedTuple):
    """The first event of every term. A new cluster gets its first records; brokers that are not
    among `live` have until their session would time out to come back."""

    live: tuple[BrokerId, ...]
    token: None = None


class BalanceLeaders(NamedTuple):
    """The time has come to have preferred replicas lead again."""

    token: None = None


class ElectUncleanLeaders(NamedTuple):
    """The time has come to look for leaders where none is, and an unclean one is allowed."""

    token: None = None


class BrokerRegistered(NamedTuple):
    """The broker is a member, not fenced."""

    epoch: BrokerEpoch


LeaderTimer = BalanceLeaders | ElectUncleanLeaders
"""What a timer of the controller's own tells it."""

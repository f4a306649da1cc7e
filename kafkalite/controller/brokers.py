"""Members of the cluster: registration, and what their coming and going does to partitions.

Kafka differs: a broker registers fenced there, and its heartbeats unfence it once it has caught up
with the metadata. Here its session is the heartbeat, and a commit reaches every live broker before
it is answered: so one batch registers, unfences and elects.

Source: Kafka's `ClusterControlManager` and `ReplicationControlManager.handleBrokerFenced/Unfenced`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.controller.elections import after_loss, after_return
from kafkalite.controller.partition_change import candidates_of
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import (
    BrokerRegistered,
    LoseBroker,
    RegisterBroker,
    StartTerm,
)
from kafkalite.core import SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import BrokerImage, MetadataImage
from kafkalite.metadata.snapshot import register_broker as registration_record
from kafkalite.metadata.store import BrokerRegistration
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.types import BrokerEpoch, BrokerId, TimestampMs

if TYPE_CHECKING:
    from kafkalite.controller.events import Event

SESSION_TIMEOUT_MS = 9_000
"""Kafka's default `broker.session.timeout.ms`."""

_FENCE = 1
_UNFENCE = -1


def register_broker(
    image: MetadataImage, event: RegisterBroker, settings: ControllerSettings
) -> tuple[list[Change], BrokerRegistered]:
    """Records that make the broker a member. `KafkaError`:

    STALE_BROKER_EPOCH when a newer incarnation has registered; UNSUPPORTED_VERSION when the broker
    lacks a finalized level of a feature.
    """
    wanted = event.registration
    known = image.brokers.get(wanted.broker_id)
    if known is not None:
        if known.epoch > event.broker_epoch:
            raise KafkaError(
                ErrorCode.STALE_BROKER_EPOCH,
                f"Expected broker epoch {known.epoch}, but got broker epoch {event.broker_epoch}",
            )
        if known.epoch == event.broker_epoch and known.incarnation_id == wanted.incarnation_id:
            return [], BrokerRegistered(known.epoch)
    _check_features(image, event)
    broker = BrokerImage(
        id=wanted.broker_id,
        epoch=event.broker_epoch,
        incarnation_id=wanted.incarnation_id,
        endpoints=wanted.endpoints,
        features=dict(wanted.features),
        rack=wanted.rack,
        log_dirs=wanted.log_dirs,
    )
    records: list[Change] = [
        registration_record(broker),
        BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, fenced=_UNFENCE
        ),
    ]
    loses_nothing = known is not None and _loses_nothing(known, wanted)
    is_as_it_was = known is not None and known.active and known.log_dirs == wanted.log_dirs
    if not (loses_nothing and is_as_it_was):
        candidates = candidates_of(image)
        records += after_return(image, broker, candidates, settings, loses_nothing=loses_nothing)
    return records, BrokerRegistered(broker.epoch)


def _loses_nothing(known: BrokerImage, wanted: BrokerRegistration) -> bool:
    """Whether it has all records that it had: one that registers again while it runs, or that comes
    back from a clean stop. What it still leads needs no new election."""
    if known.incarnation_id == wanted.incarnation_id:
        return True
    return known.epoch == wanted.previous_broker_epoch


def lose_broker(
    image: MetadataImage, event: LoseBroker, settings: ControllerSettings
) -> list[Change]:
    """Records that fence the broker and move its partitions; none when it has registered anew
    since. ZooKeeper does not remember brokers that are gone: of them only partitions tell."""
    others = candidates_of(image).without(event.broker_id)
    known = image.brokers.get(event.broker_id)
    if known is not None and known.epoch != event.broker_epoch:
        return []
    if known is None or known.fenced:
        return list(after_loss(image, event.broker_id, others, settings))
    fence = BrokerRegistrationChangeRecord(
        broker_id=known.id, broker_epoch=known.epoch, fenced=_FENCE
    )
    if event.is_clean and not others.log_dirs and settings.over_zookeeper:
        return [fence]
    return [*after_loss(image, known.id, others, settings), fence]


def await_missing(
    image: MetadataImage, event: StartTerm, now: TimestampMs
) -> tuple[SetTimer[Event], ...]:
    """Timers that lose the brokers which are registered or lead, and are not live, unless they
    register anew."""
    at = TimestampMs(now + SESSION_TIMEOUT_MS)
    leaders = {each.leader for topic in image.topics.values() for each in topic.partitions}
    return tuple(
        SetTimer(("missing", broker.id), at, LoseBroker(broker.id, broker.epoch))
        for broker in image.brokers.values()
        if broker.id not in event.live and (not broker.fenced or broker.id in leaders)
    )


def check_broker_epoch(image: MetadataImage, id: BrokerId, epoch: BrokerEpoch) -> None:
    """`KafkaError(STALE_BROKER_EPOCH)` unless that incarnation is the one registered."""
    broker = image.brokers.get(id)
    if broker is None:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {id}"
        )
    if broker.epoch != epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}",
        )


def active_ids(image: MetadataImage) -> frozenset[BrokerId]:
    """Brokers that may lead. For membership tests: a set has no order to rely on."""
    return frozenset(broker.id for broker in image.brokers.values() if broker.active)


def _check_features(image: MetadataImage, event: RegisterBroker) -> None:
    supported = dict(event.registration.features)
    for name, level in image.features.items():
        range = supported.get(name)
        low, high = (0, 0) if range is None else (range.min, range.max)
        if not low <= level <= high:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "Unable to register because the broker does not support finalized version"
                f" {level} of {name}. The broker wants a version between {low} and {high},"
                " inclusive.",
            )

"""Elections that nobody's coming or going brings about: on request, and by time.

Every so often preferred replicas are made leaders again, where others lead though they are in sync,
and partitions without a leader get an unclean one, where that is allowed.

All that is out of balance is balanced, as Kafka does it since 4.0, which has no
`leader.imbalance.per.broker.percentage` any more. Over ZooKeeper it is as in 3.9: a broker is left
in peace as long as others lead no more than that of what it is preferred for, and the first look
is 5 s after an election.

Source: Kafka's `ReplicationControlManager.electLeaders`, `maybeBalancePartitionLeaders`,
`maybeElectUncleanLeaders` (KIP-460), `KafkaController.checkAndTriggerAutoLeaderRebalance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from kafkalite.controller.leader_timers import MAX_ELECTIONS_AT_ONCE
from kafkalite.controller.partition_change import (
    Candidates,
    Election,
    candidates_of,
    partition_change,
    target_of,
)
from kafkalite.controller.replica_events import (
    ElectionType,
    ElectLeaders,
    LeadersElected,
    PartitionAnswer,
    PartitionsOf,
    TopicAnswer,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import NO_LEADER, BrokerId

_NOT_NEEDED = PartitionAnswer(
    0, ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
)
_NOT_AVAILABLE = {
    ElectionType.PREFERRED: PartitionAnswer(
        0,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        "The preferred leader was not available.",
    ),
    ElectionType.UNCLEAN: PartitionAnswer(
        0,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Eligible topic partition leaders are not available.",
    ),
}
_ELECTIONS = {
    ElectionType.PREFERRED: Election.PREFERRED,
    ElectionType.UNCLEAN: Election.UNCLEAN,
}


def elect_leaders(
    image: MetadataImage, event: ElectLeaders, settings: ControllerSettings
) -> tuple[list[Change], LeadersElected]:
    """A record for each partition that gets another leader, and an answer for each asked.
    `KafkaError(INVALID_REQUEST)` for a type of election that there is not."""
    try:
        type = ElectionType(event.election_type)
    except ValueError:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unknown election type {event.election_type}"
        ) from None
    candidates = candidates_of(image)
    records: list[Change] = []
    topics = []
    for asked in _all(image) if event.topics is None else event.topics:
        answers = []
        for index in asked.partitions:
            change, answer = _elect(image, asked.topic, index, type, candidates, settings)
            if change is not None:
                records.append(change)
            if event.topics is not None or answer.code is not ErrorCode.ELECTION_NOT_NEEDED:
                answers.append(answer._replace(partition=index))
        topics.append(TopicAnswer(asked.topic, tuple(answers)))
    return records, LeadersElected(tuple(topics))


def _all(image: MetadataImage) -> Iterator[PartitionsOf]:
    for topic in image.topics.values():
        yield PartitionsOf(topic.name, tuple(range(len(topic.partitions))))


def _elect(
    image: MetadataImage,
    name: str,
    index: int,
    type: ElectionType,
    candidates: Candidates,
    settings: ControllerSettings,
) -> tuple[PartitionChangeRecord | None, PartitionAnswer]:
    topic = image.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        missing = f"topic as {name}" if topic is None else f"partition as {name}-{index}"
        return None, PartitionAnswer(
            index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such {missing}"
        )
    partition = topic.partitions[index]
    if type is ElectionType.PREFERRED:
        is_needed = partition.leader != partition.replicas[0]
    else:
        is_needed = partition.leader == NO_LEADER
    if not is_needed:
        return None, _NOT_NEEDED
    rules = settings.rules(image, topic)._replace(election=_ELECTIONS[type])
    change = partition_change(topic, index, target_of(partition), candidates, rules=rules)
    return change, PartitionAnswer(index) if change is not None else _NOT_AVAILABLE[type]


def balance_leaders(image: MetadataImage, settings: ControllerSettings) -> list[Change]:
    """Records that have preferred replicas lead, wherever they can and do not."""
    # Over ZooKeeper all at once: after a part of them the rest might be tolerated.
    most = None if settings.over_zookeeper else MAX_ELECTIONS_AT_ONCE
    return list(islice(_balancing(image, settings), most))


def _balancing(image: MetadataImage, settings: ControllerSettings) -> Iterator[Change]:
    candidates = candidates_of(image)
    tolerated = frozenset[BrokerId]()
    if settings.over_zookeeper:
        tolerated = _balanced_enough(image, settings.tolerated_percentage / 100)
    for topic in image.topics.values():
        rules = settings.rules(image, topic)._replace(election=Election.PREFERRED)
        for index, partition in enumerate(topic.partitions):
            preferred = partition.replicas[0]
            if partition.leader == preferred or preferred in tolerated:
                continue
            change = partition_change(topic, index, target_of(partition), candidates, rules=rules)
            if change is not None:
                yield change


def _balanced_enough(image: MetadataImage, share: float) -> frozenset[BrokerId]:
    """Brokers of whose preferred partitions others lead at most that share."""
    preferred: Counter[BrokerId] = Counter()
    led_elsewhere: Counter[BrokerId] = Counter()
    for topic in image.topics.values():
        for partition in topic.partitions:
            broker = partition.replicas[0]
            preferred[broker] += 1
            led_elsewhere[broker] += partition.leader != broker
    return frozenset(id for id, count in preferred.items() if led_elsewhere[id] / count <= share)


def elect_unclean_leaders(image: MetadataImage, settings: ControllerSettings) -> list[Change]:
    """Records that give a leader to partitions without one, where an unclean one is allowed."""
    candidates = candidates_of(image)
    records: list[Change] = []
    for topic in image.topics.values():
        waiting = [i for i, each in enumerate(topic.partitions) if each.leader == NO_LEADER]
        rules = settings.rules(image, topic)
        if not waiting or rules.election is not Election.UNCLEAN:
            continue
        for index in waiting:
            target = target_of(topic.partitions[index])
            change = partition_change(topic, index, target, candidates, rules=rules)
            if change is not None:
                records.append(change)
                if len(records) == MAX_ELECTIONS_AT_ONCE:
                    return records
    return records

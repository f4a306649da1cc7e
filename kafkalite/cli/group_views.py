"""Consumer groups as a person looks at them: who is in them, how far they are, how much is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkalite.cli.consumer_groups import describe_consumer_groups
from kafkalite.cli.errors import CommandError
from kafkalite.cli.log_ranges import log_ranges
from kafkalite.cli.patience import each_when_ready, when_ready
from kafkalite.cli.refusals import Refusal
from kafkalite.protocol.messages.consumer_group_describe import DescribedGroup
from kafkalite.protocol.messages.consumer_group_describe import Member as WireMember
from kafkalite.server.rebalance_reasons import LastRebalance, read_reason

if TYPE_CHECKING:
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

Answer = Mapping[str, Any]  # `Any`: kafka-python's words for an answer.


@dataclass(frozen=True, slots=True)
class Member:
    """One consumer."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A group in one partition that it has committed, or that a member reads."""

    partition: TopicPartition
    committed_offset: int | None
    """None: nothing is committed."""
    end_offset: int | None
    """None: there is no such partition any more, or nobody leads it."""
    member: Member | None

    @property
    def lag(self) -> int | None:
        """Records that are still to be read; None when it cannot be known."""
        if self.committed_offset is None or self.end_offset is None:
            return None
        return max(0, self.end_offset - self.committed_offset)


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group."""

    name: str
    kind: str
    """`classic`, `consumer`, `share`, `streams`."""
    state: str
    protocol: str | None
    """The assignor."""
    members: tuple[Member, ...] | None
    """None: a group of a kind that is not asked for this."""
    progress: tuple[Progress, ...]
    last_rebalance: LastRebalance | None = None
    """None: it is not known, or the broker is not kafkalite."""

    @property
    def lag(self) -> int | None:
        """Of all partitions where it is known; None when it is known of none."""
        known = [each.lag for each in self.progress if each.lag is not None]
        return sum(known) if known else None


def look_at_groups(admin: KafkaAdminClient, names: Sequence[str] | None = None) -> list[GroupView]:
    """All groups, or these; `CommandError` when there is no such."""
    listed = {group["group_id"]: group for group in when_ready(admin, admin.list_groups)}
    wanted = sorted(listed) if names is None else list(dict.fromkeys(names))
    missing = [name for name in wanted if name not in listed]
    if missing:
        raise CommandError(
            *(
                f"there is no group {name}; `kafkalite groups list` lists those there are"
                for name in missing
            )
        )
    if not wanted:
        return []
    described = each_when_ready(admin, wanted, admin.describe_groups, _code)
    newer = each_when_ready(
        admin, wanted, lambda asked: describe_consumer_groups(admin, asked), _wire_code
    )
    committed = when_ready(admin, lambda: admin.list_group_offsets(dict.fromkeys(wanted)))
    members = {name: _members(described[name], newer.get(name)) for name in wanted}
    ends = _ends(admin, committed, members)
    return [
        GroupView(
            name,
            kind=listed[name].get("group_type") or "classic",
            state=listed[name].get("group_state") or described[name]["group_state"],
            protocol=_assignor(described[name], newer.get(name)),
            members=members[name],
            progress=_progress(committed[name], members[name] or (), ends),
            last_rebalance=read_reason(newer[name]) if name in newer else None,
        )
        for name in wanted
    ]


def _code(described: Answer) -> int:
    error = described["error"]
    return 0 if error is None else Refusal.written(error).code


def _wire_code(described: DescribedGroup) -> int:
    return int(described.error_code)


def _assignor(described: Answer, newer: DescribedGroup | None) -> str | None:
    if newer is not None and not newer.error_code:
        return newer.assignor_name
    return described["protocol_data"] or None


def _members(described: Answer, newer: DescribedGroup | None) -> tuple[Member, ...] | None:
    if newer is not None and not newer.error_code:
        return tuple(map(_consumer, newer.members))
    if described["error"] is not None:
        return None
    return tuple(
        Member(
            each["member_id"],
            each["group_instance_id"],
            each["client_id"],
            each["client_host"].removeprefix("/"),
            tuple(_assigned(each["member_assignment"])),
        )
        for each in described["members"]
    )


def _consumer(member: WireMember) -> Member:
    from kafka import TopicPartition

    partitions = tuple(
        TopicPartition(topic.topic_name, number)
        for topic in member.assignment.topic_partitions
        for number in topic.partitions
    )
    host = member.client_host.removeprefix("/")
    return Member(member.member_id, member.instance_id, member.client_id, host, partitions)


def _assigned(assignment: object) -> Iterable[TopicPartition]:
    """Of a consumer; other users of groups, such as Kafka Connect, assign in words of their own."""
    from kafka import TopicPartition

    if isinstance(assignment, Mapping):
        for topic in assignment["assigned_partitions"]:
            for number in topic["partitions"]:
                yield TopicPartition(topic["topic"], number)


def _ends(
    admin: KafkaAdminClient,
    committed: Mapping[str, Mapping[TopicPartition, object]],
    members: Mapping[str, tuple[Member, ...] | None],
) -> dict[TopicPartition, int]:
    topics = {partition.topic for offsets in committed.values() for partition in offsets}
    for each in members.values():
        topics |= {partition.topic for member in each or () for partition in member.partitions}
    found = [topic for topic in admin.describe_topics(sorted(topics)) if not topic["error_code"]]
    return {each: known.end_offset for each, known in log_ranges(admin, found).items()}


def _progress(
    committed: Mapping[TopicPartition, Any],  # `Any`: kafka-python's OffsetAndMetadata.
    members: Iterable[Member],
    ends: Mapping[TopicPartition, int],
) -> tuple[Progress, ...]:
    readers = {partition: member for member in members for partition in member.partitions}
    return tuple(
        Progress(
            partition,
            committed[partition].offset if partition in committed else None,
            ends.get(partition),
            readers.get(partition),
        )
        for partition in sorted({*committed, *readers})
    )

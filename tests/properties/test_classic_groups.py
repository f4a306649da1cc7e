"""Any history of one classic group: clients that join, assign, commit, fall silent and come back,
and a coordinator that is loaded anew at any moment.

- each partition that a leader assigned has one owner in a generation;
- no committed offset is lost, or goes backwards except by a commit;
- generations only rise;
- the log alone gives the recorded state, and the live group when that is complete;
- nobody who waits is forgotten: in the end everybody is answered and the group is empty.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkalite.coordinator.groups.administration_events import DeleteGroups
from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    GroupProtocol,
    Heartbeat,
    HeartbeatSeen,
    Joined,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    Left,
    MemberAssignment,
    Synced,
    SyncGroup,
)
from kafkalite.coordinator.groups.classic.records import record_of
from kafkalite.coordinator.groups.classic.state import GroupState
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    DeleteOffsets,
    ExpireOffsets,
    OffsetsCommitted,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.coordinator.groups.recorded import RecordedState
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Offset
from tests.coordinator.sample_groups import GROUP, Stage, subscription

NAMES = ("a", "b", "c", "d")
STATIC = {"c": "i", "d": "j"}
PARTITIONS = range(6)
TOPICS = ("t", "u")
RETENTION_MS = 100_000
GONE = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}

clients = st.sampled_from(NAMES)
choices = st.integers(min_value=0, max_value=99)


@dataclass
class Client:
    """What a consumer remembers."""

    member_id: str = NO_MEMBER_ID
    generation: int = -1
    leads: tuple[str, ...] = ()
    """Whom it has to assign partitions to."""
    waits_for: set[Hashable] = field(default_factory=set)


class ClassicGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.clients = {name: Client() for name in NAMES}
        self.whose: dict[Hashable, str] = {}
        """Token -> the client that asked."""
        self.seen: set[Hashable] = set()
        self.owners: dict[tuple[int, int], str] = {}
        """Generation and partition -> who owns it, by instance id where there is one."""
        self.committed: dict[str, int] = {}
        self.commit_times: dict[str, int] = {}
        self.generation = 0
        self.empty_since = 0
        """The last time that the group became empty."""

    @initialize(
        delay_ms=st.sampled_from([0, 3000]),
        size=st.integers(min_value=2, max_value=5),
    )
    def start(self, delay_ms: int, size: int) -> None:
        self.stage = Stage(
            GroupSettings(
                initial_rebalance_delay_ms=delay_ms,
                max_size=size,
                offsets_retention_ms=RETENTION_MS,
            )
        )
        self.stage.reload()

    # What clients do.

    @rule(name=clients, choice=choices, action=st.sampled_from("jjjjsssshccclr"))
    def act(self, name: str, choice: int, action: str) -> None:
        """One of them does what it likes, whether it makes sense or not."""
        match action:
            case "j":
                self.join(name, choice)
            case "s":
                self.sync(name, choice)
            case "h":
                self.heartbeat(name)
            case "c":
                self.commit(name, choice)
            case "l":
                self.leave(name)
            case "r":
                # It forgets who it was; what it asked is asked by nobody any more.
                self.clients[name] = Client()

    @rule(names=st.lists(clients, min_size=1, unique=True), choice=choices)
    def settle(self, names: list[str], choice: int) -> None:
        """These do what consumers do, until they are complete."""
        for _ in range(3):
            for name in names:
                if not self.clients[name].waits_for:
                    self.join(name, choice)
        self.stage.advance(6000)
        self.hear()
        for name in names:
            if not self.clients[name].waits_for:
                self.sync(name, choice)

    @rule(name=st.sampled_from(sorted(STATIC)), choice=choices)
    def bounce(self, name: str, choice: int) -> None:
        """A static member is restarted. Its old self hears that it is fenced."""
        before, self.clients[name] = self.clients[name], Client()
        self.join(name, choice)
        after = self.clients[name]
        if after.waits_for or after.member_id != NO_MEMBER_ID:
            assert not before.waits_for - self.stage.replies.keys()

    def join(self, name: str, choice: int) -> None:
        client = self.clients[name]
        protocols = (("range",), ("range", "sticky"), ("sticky", "range"))[choice % 3]
        modern = choice % 2 == 0
        self.ask(
            name,
            JoinGroup(
                self.stage.token(),
                GROUP,
                client.member_id,
                STATIC.get(name),
                "consumer",
                tuple(GroupProtocol(p, subscription("t")) for p in protocols),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=20_000,
                client_id=name,
                client_host="/127.0.0.1",
                new_member_uuid=str(self.stage.tokens),
                requires_known_member_id=modern,
                supports_skipping_assignment=modern,
            ),
        )

    def sync(self, name: str, shift: int) -> None:
        client = self.clients[name]
        given: dict[str, list[int]] = {member: [] for member in client.leads}
        for partition in PARTITIONS if given else ():
            given[client.leads[(partition + shift) % len(given)]].append(partition)
        self.ask(
            name,
            SyncGroup(
                self.stage.token(),
                GROUP,
                client.generation,
                client.member_id,
                STATIC.get(name),
                assignments=tuple(MemberAssignment(id, bytes(p)) for id, p in given.items()),
            ),
        )

    def heartbeat(self, name: str) -> None:
        client = self.clients[name]
        token = self.stage.token()
        self.ask(name, Heartbeat(token, GROUP, client.generation, client.member_id))

    def leave(self, name: str) -> None:
        client = self.clients[name]
        member = LeavingMember(client.member_id, STATIC.get(name))
        event = LeaveGroup(self.stage.token(), GROUP, (member,))
        self.ask(name, event)
        left = self.stage.replies[event.token]
        assert isinstance(left, Left)
        if left.members[0].code is ErrorCode.NONE and client.member_id != NO_MEMBER_ID:
            assert not client.waits_for, "left, and waits for an answer"
        self.clients[name] = Client()

    def commit(self, name: str, offset: int) -> None:
        topic = TOPICS[offset % 2]
        client = Client() if offset % 3 == 0 else self.clients[name]
        event = CommitOffsets(
            self.stage.token(),
            GROUP,
            client.generation,
            client.member_id,
            None,
            (OffsetToCommit(topic, 0, Offset(offset)),),
        )
        self.ask(name, event)
        if isinstance(self.stage.replies.get(event.token), OffsetsCommitted):
            self.committed[f"{topic}-0"] = offset
            self.commit_times[f"{topic}-0"] = self.stage.now
            group = self.stage.core.group(GROUP)
            assert group is not None
            if group.state is not GroupState.EMPTY:
                assert client.generation == group.generation

    # What happens around them.

    @rule(ms=st.sampled_from([1, 1000, 1000, 4000, 4000, 9_999, 30_000]))
    def advance(self, ms: int) -> None:
        self.stage.advance(ms)
        self.hear()

    @rule(choice=choices, action=st.sampled_from("cceotg"))
    def happen(self, choice: int, action: str) -> None:
        """To the group, from outside."""
        topic = TOPICS[choice % 2]
        match action:
            case "c":
                self.crash()
            case "e":
                self.expire()
            case "o":
                self.delete_offsets(topic)
            case "t":
                self.stage.feed(TopicsDeleted((topic,)))
                self.committed.pop(f"{topic}-0", None)
            case "g":
                self.delete_group()

    def crash(self) -> None:
        """Another broker loads the log. Who waited is told so by the driver, and asks again."""
        self.stage.reload()
        for client in self.clients.values():
            client.waits_for.clear()
        self.generation = min(self.generation, self.recorded_generation())
        self.hear()

    def expire(self) -> None:
        self.stage.feed(ExpireOffsets())
        self.hear()
        self.forget_expired()

    def forget_expired(self) -> None:
        """Those go that are older than the retention time, if their group is empty or does not read
        them; those of an empty group go by its emptiness."""
        group = self.stage.core.group(GROUP)
        kept = self.stage.fetched()
        for partition in self.committed.keys() - kept.keys():
            since = self.commit_times[partition]
            if group is not None and group.state is not GroupState.EMPTY:
                assert group.state is GroupState.STABLE
                assert partition == "u-0"
            since = min(since, self.empty_since)
            assert self.stage.now - since >= RETENTION_MS
            del self.committed[partition]

    def delete_offsets(self, topic: str) -> None:
        token = self.stage.token()
        before = set(self.stage.fetched())
        self.ask(None, DeleteOffsets(token, GROUP, (TopicPartitions(topic, (0,)),)))
        if f"{topic}-0" in before - self.stage.fetched().keys():
            assert topic == "u" or self.state() is GroupState.EMPTY
            del self.committed[f"{topic}-0"]

    def delete_group(self) -> None:
        state = self.state()
        self.ask(None, DeleteGroups(self.stage.token(), (GROUP,)))
        if state in (GroupState.EMPTY, None):
            assert self.state() is None
            self.committed.clear()
        else:
            assert self.state() is state

    # Hearing.

    def ask(
        self,
        name: str | None,
        event: JoinGroup
        | SyncGroup
        | Heartbeat
        | LeaveGroup
        | CommitOffsets
        | DeleteOffsets
        | DeleteGroups,
    ) -> None:
        if name is not None:
            self.whose[event.token] = name
            self.clients[name].waits_for.add(event.token)
        try:
            self.stage.feed(event)
        except KafkaError:
            if name is not None:
                self.clients[name].waits_for.discard(event.token)
        self.hear()

    def hear(self) -> None:
        """Clients read their answers."""
        for token in self.stage.replies.keys() - self.seen:
            self.seen.add(token)
            client = self.clients[self.whose.get(token, NAMES[0])]
            if token not in client.waits_for:
                continue
            client.waits_for.discard(token)
            reply = self.stage.replies[token]
            if isinstance(reply, Joined):
                self.hear_joined(client, reply)
            elif isinstance(reply, Synced) and reply.code is ErrorCode.NONE:
                self.hear_assignment(client, reply)
            elif isinstance(reply, Synced | HeartbeatSeen) and reply.code in GONE:
                client.member_id = NO_MEMBER_ID
        group = self.stage.core.group(GROUP)
        if group is not None and group.state is GroupState.EMPTY:
            self.empty_since = group.state_timestamp
        if group is None:
            self.generation = 0
            self.owners.clear()
        else:
            assert group.generation >= self.generation
            self.generation = group.generation

    def hear_joined(self, client: Client, reply: Joined) -> None:
        client.leads = ()
        if reply.code is ErrorCode.NONE:
            self.become(client, reply.member_id)
            client.generation = reply.generation
            if not reply.skip_assignment:
                client.leads = tuple(member.member_id for member in reply.members)
        elif reply.code is ErrorCode.MEMBER_ID_REQUIRED:
            self.become(client, reply.member_id)
        elif reply.code in GONE:
            client.member_id = NO_MEMBER_ID

    def become(self, client: Client, member_id: str) -> None:
        """What it asked under another id, or under none, is the wait of another member."""
        if client.member_id != member_id:
            client.waits_for.clear()
        client.member_id = member_id

    def hear_assignment(self, client: Client, reply: Synced) -> None:
        name = client.member_id.partition("-")[0]
        owner = client.member_id if name in NAMES else name
        for partition in reply.assignment:
            known = self.owners.setdefault((client.generation, partition), owner)
            assert known == owner, "two owners of a partition in one generation"

    def state(self) -> GroupState | None:
        group = self.stage.core.group(GROUP)
        return None if group is None else group.state

    def recorded_generation(self) -> int:
        value = self.stage.core.recorded.groups.get(GROUP)
        return 0 if value is None else value.generation

    # What always holds.

    @invariant()
    def no_offset_is_lost(self) -> None:
        self.forget_expired()  # A look may have been due.
        assert self.stage.fetched() == self.committed

    @invariant()
    def the_log_alone_says_it_all(self) -> None:
        again = RecordedState()
        for record in self.stage.log:
            again.apply(record)
        now = self.stage.core.recorded
        assert again.groups == now.groups
        assert list(again.offsets.groups()) == list(now.offsets.groups())
        assert again.offsets.of_group(GROUP) == now.offsets.of_group(GROUP)

    @invariant()
    def a_complete_group_is_as_it_is_recorded(self) -> None:
        group = self.stage.core.group(GROUP)
        if group is None or group.state not in (GroupState.EMPTY, GroupState.STABLE):
            return
        recorded = self.stage.core.recorded.groups[GROUP]
        live = record_of(group)
        if recorded is None:
            assert group.protocol_type is None
        else:
            if group.state is GroupState.STABLE:
                live.current_state_timestamp = recorded.current_state_timestamp
            assert live == recorded

    @invariant()
    def who_is_not_answered_waits_for_the_group(self) -> None:
        group = self.stage.core.group(GROUP)
        members = [] if group is None else list(group.members.values())
        parked = {m.awaiting_join for m in members} | {m.awaiting_sync for m in members}
        for client in self.clients.values():
            assert client.waits_for <= parked
        joins = any(member.awaiting_join is not None for member in members)
        assert not joins or self.state() is GroupState.PREPARING_REBALANCE
        syncs = any(member.awaiting_sync is not None for member in members)
        assert not syncs or self.state() is GroupState.COMPLETING_REBALANCE

    def teardown(self) -> None:
        """Everybody falls silent."""
        self.stage.advance(300_000 + 60_000)
        self.hear()
        assert all(not client.waits_for for client in self.clients.values())
        assert self.state() in (GroupState.EMPTY, None)


TestClassicGroups = ClassicGroupMachine.TestCase
TestClassicGroups.settings = settings(max_examples=120, stateful_step_count=50, deadline=None)

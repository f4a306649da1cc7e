"""Any history of one replicated partition: messages are late or lost, brokers end and come back,
with or without what was not synced.

    acknowledged records are in the log of whoever leads, below its high watermark once it has one
    the high watermark of a broker does not fall while it runs
    logs agree below the high watermarks
    one leader in each epoch

Power may be lost while another replica in sync runs: with the last one go records that nobody else
has, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkalite.types import NO_LEADER, BrokerId, Offset, TimestampMs
from tests.properties.replicated_partition import Replica, World

ids = st.integers(0, 2)


class Replication(RuleBasedStateMachine):
    """Steps of one partition on three brokers."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(3, 1)
        self.count = 0
        self.high_watermarks: dict[tuple[BrokerId, int], Offset] = {}
        self.leaders: dict[int, BrokerId] = {}

    @initialize(min_in_sync=st.integers(1, 2))
    def begin(self, min_in_sync: int) -> None:
        self.world = World(3, min_in_sync)

    def pick(self, which: int, fits: Callable[[Replica], bool]) -> BrokerId | None:
        """One of the brokers that run and fit."""
        fitting = [each.id for each in self.world.up if fits(each)]
        return fitting[which % len(fitting)] if fitting else None

    @rule(which=ids)
    def write(self, which: int) -> None:
        id = self.pick(which, lambda each: each.partition is not None and _leads(each))
        if id is not None:
            self.count += 1
            self.world.write(id, b"v%d" % self.count)

    @rule(which=ids)
    def fetch(self, which: int) -> None:
        """All of one fetch, at once."""
        id = self.pick(which, _follows)
        if id is not None:
            self.world.send(id)
            self.world.serve(id)
            if self.world.replicas[id].answer is not None:
                self.world.deliver(id)

    @rule(which=ids)
    def send(self, which: int) -> None:
        id = self.pick(which, _follows)
        if id is not None:
            self.world.send(id)

    @rule(which=ids)
    def serve(self, which: int) -> None:
        id = self.pick(which, lambda each: each.request is not None)
        if id is not None:
            self.world.serve(id)

    @rule(which=ids)
    def deliver(self, which: int) -> None:
        id = self.pick(which, lambda each: each.answer is not None)
        if id is not None:
            self.world.deliver(id)

    @rule(which=ids)
    def learn(self, which: int) -> None:
        id = self.pick(which, lambda each: True)
        if id is not None:
            self.world.learn(id)

    @rule(which=ids, is_lost=st.booleans())
    def decide(self, which: int, is_lost: bool) -> None:
        id = self.pick(which, lambda each: bool(each.proposals))
        if id is not None:
            self.world.decide(id, is_lost=is_lost)

    @rule(ms=st.integers(1, 1_500))
    def wait(self, ms: int) -> None:
        self.world.clock.time = TimestampMs(self.world.clock.time + ms)
        for each in self.world.up:
            assert each.partition is not None
            each.partition.review_isr(self.world.clock.time)

    @rule(which=ids)
    def move_leader(self, which: int) -> None:
        image = self.world.image
        id = self.pick(which, lambda each: each.id in image.isr and each.id != image.leader)
        if id is not None and image.leader != NO_LEADER:
            self.world.move_leader(id)

    @rule(which=ids)
    def sync(self, which: int) -> None:
        id = self.pick(which, lambda each: True)
        if id is not None:
            partition = self.world.replicas[id].partition
            assert partition is not None
            partition.log.sync()
            self.world.replicas[id].checkpoint = partition.high_watermark

    @rule(which=ids, loses_power=st.booleans())
    def end(self, which: int, loses_power: bool) -> None:
        id = self.pick(which, lambda each: True)
        if id is None:
            return
        others = {each.id for each in self.world.up} - {id}
        is_last = not others & set(self.world.image.isr)
        self.world.end(id, loses_power=loses_power and not is_last)

    @rule(which=ids)
    def start(self, which: int) -> None:
        down = [each.id for each in self.world.replicas.values() if each.partition is None]
        if down:
            id = down[which % len(down)]
            self.world.start(id)
            self.world.learn(id)

    @invariant()
    def acknowledged_records_are_where_the_leader_is(self) -> None:
        leader = self.world.replicas.get(self.world.image.leader)
        if leader is None or leader.partition is None:
            return
        values = leader.values()
        for written in self.world.acknowledged:
            assert written.offset < len(values), f"{written} is lost"
            assert values[written.offset] == written.value, f"{written} is another"

    @invariant()
    def high_watermarks_do_not_fall(self) -> None:
        for each in self.world.up:
            assert each.partition is not None
            key = (each.id, each.broker_epoch)
            now = each.partition.high_watermark
            assert self.high_watermarks.get(key, Offset(0)) <= now <= each.partition.log.end_offset
            self.high_watermarks[key] = now

    @invariant()
    def logs_agree_below_the_high_watermarks(self) -> None:
        for one, other in pairwise(self.world.up):
            assert one.partition is not None
            assert other.partition is not None
            least = min(one.partition.high_watermark, other.partition.high_watermark)
            assert one.values(least) == other.values(least)

    @invariant()
    def an_epoch_has_one_leader(self) -> None:
        for each in self.world.up:
            assert each.partition is not None
            if each.partition.leader is not None:
                epoch = each.partition.leader.leader_epoch
                assert self.leaders.setdefault(epoch, each.id) == each.id


def _leads(replica: Replica) -> bool:
    return replica.partition is not None and replica.partition.leader is not None


def _follows(replica: Replica) -> bool:
    return replica.followed is not None


TestReplication = Replication.TestCase
TestReplication.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

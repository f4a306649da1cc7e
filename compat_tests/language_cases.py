"""What a library in another language must be able to do, written once.

Each language has a program (`programs.py` builds it) that is started as

    BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS PROGRAM LIBRARY SCENARIO TOPIC [CODEC]

which, with SASL_MECHANISM, SASL_USERNAME and SASL_PASSWORD beside these, logs in to a listener of
SASL_PLAINTEXT (`test_sasl_clients.py`). It makes TOPIC, which nobody used before, does the
scenario, prints what it saw as one line of JSON `{"scenario": ..., "ok": true, ...}` and ends with
0; or with `"ok": false, "error": ...` and 1. A scenario gives up after a minute of waiting for one
thing. Groups are named as their topic. Records are those of `sample.py`, or numbered ones: values
0, 1, 2 and so on, a second apart from BASE_TIMESTAMP on.

`round-trip` sends 10,000 records with CODEC, reads them and compares every field. It tells whether
    the topic was `listed_at_once`, when the program first looked for it; how many records were
    `received`; the first few `differences`, as text.
`group`: a member reads 50 numbered records in each of 4 partitions, and commits; a second joins;
    both read 10 more in each; the second leaves, and the first has all partitions again. It tells
    the partitions that the first had `alone`, those of both as `shared`, and partition and offset
    of each of the 40 `received`, sorted.
`members`, of libraries whose groups are looked at closely: of 6 partitions a first member has all;
    a second and a third come, both leave; one more comes, and closes as soon as it has asked to
    join; another one comes, and the first closes as soon as that has asked; of each partition it
    reads a record. It tells how many partitions each member had, as `counts`, and how many records
    were `received`.
`static`, where the library can: two members share 6 partitions, and the second is closed and opened
    again. It tells its partitions `before` and `after`, and how many the `other` one has then.
`pattern`, where the library can: a member reads all topics that begin with TOPIC, which has 3
    records, and commits; another is made, with 5 in each of two partitions. It tells how many
    records were `received`, and how many `of_the_new_topic`.
`held-up`, of libraries whose groups are looked at closely: it is started twice, to be members of a
    topic that the caller has made and fills in the end, and may be stopped (`held_up_members.py`).
    It polls until it has 5 records, however long, commits them, and tells partition and offset of
    each `received`.
`resume`: of 30 numbered records a member reads all, commits offset 20 and leaves; two more read
    what is left, one after the other, and commit nothing. It tells the offsets each `received`.
`seek`: of 40 numbered records it asks for the offset of four times: 1 ms before the first, that of
    record 10, 1 ms after that, 1 ms after the last; and reads all from between records 9 and 10 on.
    It tells the offsets `found`, -1 for none, and those `received`.
`delete` sends 20 records, deletes the topic, makes it again and sends 5. It tells whether the topic
    was `gone_at_once`, when the program first looked for it, and the offsets `received`.
`transactions`, of libraries that can write them: of 6 numbered records it copies 3 to TOPIC-copy,
    with their offsets, and aborts; copies them again, and commits; and so on. It tells the values
    of the copy that are `committed`, `all` values there, and the group's `offset` in the end.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.client_cases import MANY, Codec
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.programs import Command, program
from compat_tests.record_client_versions import RELAYED
from compat_tests.sample import BASE_TIMESTAMP, in_order, samples
from compat_tests.stored import stored_codecs
from compat_tests.watching_relay import WITNESS
from kafkalite.protocol.records.compression import Compression

PATIENCE_S = 150

Facts = dict[str, Any]
"""Any: whatever JSON a program prints; the cases compare it."""
Run = Callable[..., Facts]


class ResumeCases:
    """Of whoever has groups."""

    def test_a_new_member_resumes_where_the_last_committed(self, run: Run) -> None:
        rest = list(range(20, 30))
        assert run("resume") == {"received": [list(range(30)), rest, rest]}


class LanguageCases(ResumeCases):
    """A library's test class inherits these, and names both."""

    language: str
    library: str

    @pytest.fixture
    def command(self) -> Command:
        """Starts the program, which is built if need be."""
        return program(self.language)

    @pytest.fixture
    def run(self, command: Command, bootstrap: str, topic: str) -> Run:
        """Puts the library through a scenario, with a topic of its own."""

        def run(scenario: str, *more: str) -> Facts:
            told = {"BOOTSTRAP": bootstrap, "BASE_TIMESTAMP": str(BASE_TIMESTAMP)}
            done = subprocess.run(
                [*command, self.library, scenario, topic, *more],
                env={**os.environ, **told},
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            said = f"{done.stdout[-2_000:]}\n{done.stderr[-2_000:]}"
            assert done.returncode == 0, said
            (line,) = done.stdout.splitlines()
            facts: Facts = json.loads(line)
            assert (facts.pop("scenario"), facts.pop("ok")) == (scenario, True)
            return facts

        return run

    @pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
    def test_every_field_of_10000_records_comes_back(
        self, run: Run, bootstrap: str, topic: str, codec: Codec
    ) -> None:
        facts = run("round-trip", codec)
        assert facts.pop("listed_at_once") or is_foreign()
        assert facts == {"received": MANY, "differences": []}
        # A batch that would not become smaller by it, librdkafka does not compress.
        stored = stored_codecs(bootstrap, topic) - {Compression.NONE}
        assert stored == {Compression[codec.upper()]} - {Compression.NONE}
        # Another library has the same records, so that no two faults of one hide each other.
        in_order(ConfluentClient(bootstrap, WITNESS).read(topic, MANY), samples(MANY))

    def test_two_members_share_and_one_leaves(self, run: Run) -> None:
        facts = run("group")
        first, second = facts["shared"]
        assert facts["alone"] == sorted(first + second) == [0, 1, 2, 3]
        assert len(first) == len(second) == 2
        expected = [[partition, offset] for partition in range(4) for offset in range(50, 60)]
        assert facts["received"] == expected

    def test_seeking_by_time(self, run: Run) -> None:
        assert run("seek") == {"found": [0, 10, 11, -1], "received": list(range(10, 40))}

    def test_a_topic_deleted_and_created_again_is_empty(self, run: Run) -> None:
        facts = run("delete")
        assert facts.pop("gone_at_once") or is_foreign()
        assert facts == {"received": list(range(5))}


class MemberCases:
    """Of a library whose groups are looked at closely."""

    def test_members_come_and_go(self, run: Run) -> None:
        counts = [[6], [3, 3], [2, 2, 2], [6], [6], [6]]
        assert run("members") == {"counts": counts, "received": 6}


class StaticMemberCases:
    """Of a library that has static members."""

    def test_a_static_member_starts_anew_and_has_what_it_had(self, run: Run) -> None:
        facts = run("static")
        assert facts["before"] == facts["after"]
        assert len(facts["before"]) == facts["other"] == 3


class PatternCases:
    """Of a library that subscribes by patterns."""

    def test_a_pattern_sees_a_new_topic(self, run: Run) -> None:
        assert run("pattern") == {"received": 13, "of_the_new_topic": 10}


class TransactionCases:
    """Of a library that can write transactions."""

    def test_transactions(self, run: Run) -> None:
        facts = run("transactions")
        assert facts["committed"] == [str(number) for number in range(6)]
        assert facts["all"] == ["0", "1", "2", "0", "1", "2", "3", "4", "5", "3", "4", "5"]
        assert facts["offset"] == 6


def is_foreign() -> bool:
    """The real Kafka's broker learns of a topic a moment after its controller has answered;
    kafkalite answers only when all is done."""
    return "BOOTSTRAP" in os.environ and RELAYED not in os.environ

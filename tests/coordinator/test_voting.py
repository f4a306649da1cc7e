from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.voting import select_protocol


def test_one_member_has_its_first() -> None:
    assert select_protocol([["range", "sticky"]]) == "range"


def test_only_what_all_support_gets_votes() -> None:
    assert select_protocol([["a", "b", "c"], ["d", "c", "b"]]) in ("b", "c")
    assert select_protocol([["a", "b"], ["b", "c"]]) == "b"


def test_most_votes_win() -> None:
    votes = [["range", "sticky"], ["sticky", "range"], ["sticky", "range"]]
    assert select_protocol(votes) == "sticky"


@pytest.mark.parametrize(
    ("one", "other"),
    [("sticky", "range"), ("range", "roundrobin"), ("roundrobin", "cooperative-sticky")],
)
def test_a_tie_goes_to_the_first_in_a_hash_map(one: str, other: str) -> None:
    """In the order in which Java's printed one with these keys: sticky, range, roundrobin,
    cooperative-sticky."""
    assert select_protocol([[one, other], [other, one]]) == one
    assert select_protocol([[other, one], [one, other]]) == one


def test_many_protocols_have_more_buckets() -> None:
    """Java's, with forty keys p0 to p39, had p30 between p9 and p10, and p15 before p37."""
    names = [f"p{n}" for n in range(40)]
    everybody = [[name, *names] for name in names]
    for twice, winner in ((("p10", "p30"), "p30"), (("p37", "p15"), "p15"), (("p0", "p9"), "p0")):
        more = [[name, *names] for name in twice]
        assert select_protocol([*everybody, *more]) == winner


def test_there_is_one_that_all_support() -> None:
    with pytest.raises(AssertionError):
        select_protocol([["a"], ["b"]])


def test_a_name_given_twice_counts_once() -> None:
    assert select_protocol([["range", "range"], ["range"]]) == "range"

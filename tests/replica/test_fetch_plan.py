from __future__ import annotations

from kafkalite.replica.fetch_plan import FetchBudget


def test_a_partition_gives_at_most_its_own_limit() -> None:
    assert FetchBudget(1000).limit(300) == 300


def test_all_partitions_together_give_at_most_the_request_s_limit() -> None:
    budget = FetchBudget(1000)
    budget.took(700)
    assert budget.limit(500) == 300
    budget.took(300)
    assert budget.limit(500) == 0


def test_only_the_first_partition_with_bytes_gives_a_batch_above_the_limits() -> None:
    budget = FetchBudget(100)
    before = budget.first_batch_whole
    budget.took(0)
    after_an_empty_partition = budget.first_batch_whole
    budget.took(5000)
    after_a_batch = budget.first_batch_whole
    assert (before, after_an_empty_partition, after_a_batch) == (True, True, False)
    assert budget.limit(100) == 0


def test_negative_limits_are_none_at_all() -> None:
    assert FetchBudget(-1).limit(10) == 0
    assert FetchBudget(10).limit(-5) == 0

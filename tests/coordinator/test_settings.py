from __future__ import annotations

from kafkalite.coordinator.groups.settings import GroupSettings


def test_defaults_are_kafkas_but_for_the_initial_delay() -> None:
    assert GroupSettings() == GroupSettings(
        initial_rebalance_delay_ms=0,
        min_session_timeout_ms=6_000,
        max_session_timeout_ms=1_800_000,
        max_size=2_147_483_647,
        offset_metadata_max_bytes=4096,
        offsets_retention_ms=10080 * 60_000,
        offsets_retention_check_interval_ms=600_000,
    )

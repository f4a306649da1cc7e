"""Why groups rebalanced: for people who read a log, or look at a group. Soft state, which no
decision depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkalite.coordinator.groups.draft import Rebalanced

FEW_GROUPS = 100
"""So many may be kept of groups that are gone."""


class Reasons:
    """Of the groups of one coordinator."""

    def __init__(self) -> None:
        self._begun: list[Rebalanced] = []
        self._last: dict[str, Rebalanced] = {}

    @property
    def last(self) -> Mapping[str, Rebalanced]:
        """By group, of those that rebalanced since the coordinator was loaded."""
        return self._last

    def keep(
        self, begun: Iterable[Rebalanced], group_count: int, exists: Callable[[str], bool]
    ) -> None:
        """These have begun, where there are so many groups. `exists`: whether there is a group of
        that id."""
        for each in begun:
            self._begun.append(each)
            self._last[each.group_id] = each
        if len(self._last) > 2 * group_count + FEW_GROUPS:
            self._last = {id: each for id, each in self._last.items() if exists(id)}

    def take(self) -> list[Rebalanced]:
        """Those that began since the last call."""
        begun, self._begun = self._begun, []
        return begun

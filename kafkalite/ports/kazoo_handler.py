"""How kazoo waits, and how it tells: for thousands of znodes that are read or change at once.

kazoo's own handler makes a new epoll for each wait, of which an answer takes five, and passes each
answer on through a queue and a thread more. What we have it call hands over to the event loop and
returns, so that it can be called where it is known.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler


class Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types.
    """Callbacks must not wait: they run in the thread that reads and sends."""

    def async_result(self) -> Any:  # Any: as above.
        """See kazoo's."""
        return _Result(self)

    def dispatch_callback(self, callback: Any) -> None:  # Any: as above.
        """Of a watch: now."""
        callback.func(*callback.args)

    def select(
        self,
        readers: Sequence[Any],  # Any: sockets, whichever kazoo has.
        writers: Sequence[Any],
        others: Sequence[Any],
        timeout: float | None = None,
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """As `select.select`; `timeout` in seconds. `others` is empty."""
        poll = getattr(select, "poll", None)
        if poll is None:  # Windows.
            return super().select(readers, writers, others, timeout)  # type: ignore[no-any-return]  # as above
        poller = poll()
        for each in readers:
            poller.register(each, select.POLLIN)
        for each in writers:
            poller.register(each, select.POLLOUT)
        ready = {fd for fd, _ in poller.poll(None if timeout is None else timeout * 1000)}
        return (
            [each for each in readers if each.fileno() in ready],
            [each for each in writers if each.fileno() in ready],
            [],
        )


class _Result(AsyncResult):  # type: ignore[misc]  # as above
    def _do_callbacks(self) -> None:
        for callback in self._callbacks:
            callback(self)

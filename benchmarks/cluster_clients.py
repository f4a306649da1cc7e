"""Who writes while a leader dies: librdkafka, and a client that never pauses long."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import raw
from confluent_kafka import Producer


class SteadyProducer:
    """acks=all, a record each 5 ms, from its own thread."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0}
        )
        self._topic = topic
        self.acked: list[tuple[float, float]] = []
        """When each was produced and when it was acknowledged."""
        self.lost: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait_acked(self, since: float) -> float:
        """When the first record produced after `since` was acknowledged."""
        until = time.monotonic() + 90
        while time.monotonic() < until:
            for produced, acked in self.acked[-2000:]:
                if produced >= since:
                    return acked
            time.sleep(0.005)
        raise SystemExit(f"no record was acknowledged in 90 s; refused: {self.lost[:3]}")

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(0.005):
            now = time.monotonic()

            def told(error: object, _: object, now: float = now) -> None:
                if error is None:
                    self.acked.append((now, time.monotonic()))
                else:
                    self.lost.append(str(error))

            self._producer.produce(self._topic, b"x" * 100, on_delivery=told)
            self._producer.poll(0)
        self._producer.flush(60)


def first_raw_ack(addresses: Sequence[str], topic: str) -> float:
    """When a client that goes on asking all of them, every 10 ms, had its record acknowledged."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for address in addresses:
            with suppress(SystemExit):  # Of `raw`: an error code.
                connection = raw.Conn(address, 8192)
                with connection.s:
                    frame, code = connection.produce_frame(topic, raw.batch(200, 100), -1)
                    connection.produce(frame, code, 1)
                    return time.monotonic()
        time.sleep(0.01)
    raise SystemExit(f"{topic}: no record was acknowledged in 60 s")

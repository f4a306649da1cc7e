"""An idempotent producer as a process of its own: `riding_producer.py BOOTSTRAP TOPIC COUNT` sends
so many records, tells of each that is acknowledged, and ends with their offsets.

kafka-python forgets a socket whose dial was refused, which in the tests' own process is a
failure."""

from __future__ import annotations

import json
import sys

from kafka import KafkaProducer

WITHIN_S = 60.0


def main(bootstrap: str, topic: str, count: int) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","),
        acks="all",
        enable_idempotence=True,
        retry_backoff_ms=50,
        reconnect_backoff_max_ms=200,
    )
    offsets = []
    for number in range(count):
        offsets.append(producer.send(topic, f"{number}".encode()).get(WITHIN_S).offset)
        print("acknowledged", flush=True)
    producer.close()
    print(json.dumps(offsets), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

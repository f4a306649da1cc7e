"""A program of FastStream: a subscriber whose results are published.

    python faststream_echo.py BACKEND BOOTSTRAP SOURCE SINK WORKER FOLDER

BACKEND is `confluent` or `aiokafka`. For each record of SOURCE, such as `tea-17`, SINK gets
`WORKER tea-17`. Ends well with SIGTERM.
"""

from __future__ import annotations

import asyncio
import sys

from faststream import FastStream
from faststream.confluent import KafkaBroker as ConfluentBroker
from faststream.kafka import KafkaBroker as AiokafkaBroker

backend, bootstrap, source, sink, worker = sys.argv[1:6]
group = f"{source}-echoes"


async def echo(text: str) -> str:
    return f"{worker} {text}"


async def main() -> None:
    if backend == "confluent":
        confluent = ConfluentBroker(bootstrap, config={"heartbeat.interval.ms": "300"})
        subscribed = confluent.subscriber(source, group_id=group, auto_offset_reset="earliest")
        subscribed(confluent.publisher(sink)(echo))
        await FastStream(confluent).run()
    else:
        aiokafka = AiokafkaBroker(bootstrap)
        subscriber = aiokafka.subscriber(
            source, group_id=group, auto_offset_reset="earliest", heartbeat_interval_ms=300
        )
        subscriber(aiokafka.publisher(sink)(echo))
        await FastStream(aiokafka).run()


asyncio.run(main())

"""A program of faust-streaming: an agent that counts what it sees of each kind in a table.

    python faust_counter.py BOOTSTRAP SOURCE SINK WORKER FOLDER

For each record of SOURCE, such as `tea-17`, SINK gets `WORKER tea-17 COUNT`, where COUNT is how
many records of `tea` there were. The table lives in memory and in its changelog topic, so a worker
that starts anew has to read that. Ends well with SIGTERM.
"""

from __future__ import annotations

import sys

import faust

bootstrap, source, sink, worker, folder = sys.argv[1:6]

app = faust.App(
    f"{source}-counters",
    broker=f"kafka://{bootstrap}",
    broker_heartbeat_interval=0.3,
    datadir=folder,
    store="memory://",
    topic_partitions=2,
    value_serializer="raw",
    web_enabled=False,
)
arrived = app.topic(source, value_type=bytes)
counted = app.topic(sink, value_type=bytes)
counts = app.Table("counts", default=int)


@app.agent(arrived)
async def count(stream: faust.StreamT[bytes]) -> None:
    async for text in stream:
        kind = text.decode().partition("-")[0]
        counts[kind] += 1
        await counted.send(value=f"{worker} {text.decode()} {counts[kind]}".encode())


if __name__ == "__main__":
    sys.argv[1:] = ["worker", "--loglevel=info", "--without-web"]
    app.main()

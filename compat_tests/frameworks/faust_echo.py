"""A program of faust-streaming: an agent that passes on what comes.

    python faust_echo.py BOOTSTRAP SOURCE SINK WORKER FOLDER

For each record of SOURCE, such as `tea-17`, SINK gets `WORKER tea-17`. Ends well with SIGTERM.
"""

from __future__ import annotations

import sys

import faust

bootstrap, source, sink, worker, folder = sys.argv[1:6]

app = faust.App(
    f"{source}-echoes",
    broker=f"kafka://{bootstrap}",
    broker_heartbeat_interval=0.3,
    datadir=folder,
    value_serializer="raw",
    web_enabled=False,
)
arrived = app.topic(source, value_type=bytes)
passed_on = app.topic(sink, value_type=bytes)


@app.agent(arrived)
async def echo(stream: faust.StreamT[bytes]) -> None:
    async for text in stream:
        await passed_on.send(value=f"{worker} {text.decode()}".encode())


if __name__ == "__main__":
    sys.argv[1:] = ["worker", "--loglevel=info", "--without-web"]
    app.main()

"""Puts admin requests to a broker and writes what it answers: how
`tests/server/admin-answers.jsonl` was made, of the real Kafka 4.4.0.

    python -m compat_tests.record_admin_answers HOST:PORT FILE

A row each: what is asked (`case`, for people), `api`, `version`, `request_hex` (a whole frame), and
`answer`, as far as brokers share it. Rows build on each other; the broker must not have their
topics.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from itertools import chain
from pathlib import Path

from compat_tests import (
    admin_requests,
    config_requests,
    group_config_requests,
    quota_requests,
    replica_requests,
    scram_requests,
)
from kafkalite.protocol.headers import request_frame
from tests.server.admin_answers import Fields, comparable, decode_answer

SETTLED_S = 0.2
"""The real Kafka answers before its broker has learnt of what changed."""


def main() -> None:
    """Ask each, and write the rows."""
    address, path = sys.argv[1:]
    host, port = address.rsplit(":", 1)
    rows: list[dict[str, Fields]] = []
    with (
        socket.create_connection((host, int(port)), 5) as connection,
        connection.makefile("rb") as answers,
    ):
        for request, version in chain(
            admin_requests.requests(),
            config_requests.requests(),
            group_config_requests.requests(),
            replica_requests.requests(),
            scram_requests.requests(),
            quota_requests.requests(),
        ):
            api = type(request).__name__.removesuffix("Request")
            if api.startswith(("Describe", "Produce")):
                time.sleep(SETTLED_S)  # noqa: TID251  # Nothing tells when.
            frame = b"".join(
                bytes(part)  # type: ignore[arg-type]  # requests hold nothing but bytes.
                for part in request_frame(request, version, correlation_id=1, client_id="admin")
            )
            connection.sendall(frame)
            size = answers.read(4)
            answer = decode_answer(api, version, answers.read(int.from_bytes(size)))
            rows.append(
                {
                    "case": f"{len(rows)} {request!r}"[:200],
                    "api": api,
                    "version": version,
                    "request_hex": frame.hex(),
                    "answer": comparable(answer),
                }
            )
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

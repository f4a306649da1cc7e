"""Three brokers in one process, as `kafkalite cluster` has them, steered through standard input:

    cluster_host.py FOLDER

It prints one line of JSON, addresses by broker; then it obeys lines `kill ID` and `restart ID`, and
prints a line after each. It ends with its standard input.
"""

from __future__ import annotations

import json
import sys

from kafkalite.ports.process import raise_descriptor_limit
from kafkalite.testing import Cluster


def run(folder: str) -> None:
    raise_descriptor_limit()
    settings = {"kafkalite.record.validation": "header", "min.insync.replicas": "2"}
    with Cluster(3, settings=settings, data=folder) as cluster:
        print(json.dumps({id: cluster.address_of(id) for id in cluster.brokers}), flush=True)
        for line in sys.stdin:
            verb, id = line.split()
            {"kill": cluster.kill, "restart": cluster.restart}[verb](int(id))
            print("done", flush=True)


if __name__ == "__main__":
    run(sys.argv[1])

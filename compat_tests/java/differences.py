"""Where tools say more on the real Kafka: what kafkalite does not have yet, or does otherwise.

Whoever adds an API or a feature changes nothing here: from then on its line is compared.
"""

from __future__ import annotations

import re
from dataclasses import replace

from compat_tests.java.transcript import Step
from kafkalite.controller.features import FINALIZED
from kafkalite.server.apis.table import APIS

API = re.compile(r">\s*\w+\((?P<key>\d+)\): ")
FEATURE = re.compile(r"> Feature: (?P<name>\S+)")
WAITS_FOR_TOPIC = re.compile(
    r"! WARN .*reported a recoverable issue.*=UNKNOWN_TOPIC_OR_PARTITION\}"
)
"""`Kafka differs:` in `server/apis/metadata.py`: here the answer waits until the topic is there."""
OTHER_DEFAULT = re.compile(r">\s+consumer\.\w+\.\w+\.ms=\d+ .*\{DEFAULT_CONFIG:")
"""Groups form at once here: docs/decisions/0014-consumer-groups.md."""
SERVED = {int(module.API.key) for module in APIS}


def as_here(step: Step) -> Step:
    """The step without what it says on the real Kafka alone."""
    return replace(step, said=[line for line in step.said if not _is_kafkas_alone(line)])


def _is_kafkas_alone(line: str) -> bool:
    if api := API.match(line):
        return int(api["key"]) not in SERVED
    if feature := FEATURE.match(line):
        return feature["name"] not in FINALIZED
    return any(each.match(line) is not None for each in (WAITS_FOR_TOPIC, OTHER_DEFAULT))

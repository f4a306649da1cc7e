"""What tools print, without what no two runs have in common."""

from __future__ import annotations

import json
import re

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MOMENT = r"[-\d]+ [:\d]+"
DECIMAL = r"\d+\.\d+"
RULES = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ", ""),  # a line of a log.
        (r"^\s+(at .*|\.\.\. \d+ more)\n", ""),  # of a stack trace.
        # In the new protocol Java is first assigned nothing when it is told its partitions before
        # it knows the topic's name, by another request of the same moment.
        (r'^\{"name":"partitions_assigned","partitions":\[\],.*\n', ""),
        # How often a producer asks until its topic is made, none can say.
        (r"(?<= correlation id )\d+", "N"),
        (r"^(.* recoverable issue with correlation id N .*\n)\1+", r"\1"),
        (UUID, "UUID"),
        (r"(?<!\S)[-\w]{22}(?= +/)", "MEMBER"),  # In the new protocol an id has a text of its own.
        (r"(TopicId: |Cluster ID: )\S+", r"\1ID"),
        (r'("topicId":)"[^"]*"', r'\1"ID"'),
        (r"(CreateTime:|LogAppendTime:)\d+", r"\1TIME"),
        (r'("(?:timestamp|\w+Timestamp)":)\d+', r"\1TIME"),
        (r'("avg_throughput":)[\d.]+', r"\1N"),
        (r'("size":)[1-9]\d*', r"\1N"),  # How many batches the records came in, none can say.
        (r'("logDir":)"[^"]*"', r'\1"FOLDER"'),
        (r"(Epoch: )\d+$", r"\1N"),  # of features: the offset of their last change.
        (rf"{DECIMAL} (records/sec|MB/sec|ms)", r"N \1"),
        # Start, end, MB and records and the speed of each, time of a rebalance and of fetching.
        (
            rf"^{MOMENT}, {MOMENT}, ({DECIMAL}), {DECIMAL}, (\d+), {DECIMAL}, \d+, \d+, .*",
            r"TIME, TIME, \1, N, \2, N ...",
        ),
        # Objects of JSON, printed one behind the other.
        (r"\}\{", "}\n{"),
        (r"\b\d+ ms (50th|95th|99th|99.9th)", r"N ms \1"),
        # Columns are as wide as the addresses and ids in them.
        (r" +", " "),
        (r" $", ""),
    )
)


def normal(text: str) -> str:
    """The text with words in place of times, ids and speeds."""
    text = "\n".join(map(_with_keys_in_order, text.split("\n")))
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


def _with_keys_in_order(line: str) -> str:
    """The verifiable tools tell of an event in the order in which a JVM happens to list a class's
    methods, another one now and then: sorted, if it is one."""
    if not line.startswith('{"timestamp":'):
        return line
    return json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"))

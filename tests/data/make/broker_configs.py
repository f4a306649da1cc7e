"""Asks the real Kafka's classes what they make of settings, and Java's Properties of texts:

    make/broker_configs.py --out tests/config

writes broker-config-keys.jsonl, broker-config-answers.jsonl and properties-answers.jsonl. Needs what
`compat_tests/oracle/install` brings; no broker is started.
"""
import argparse
import base64
import json
import random
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
KAFKA = HERE.parents[2] / "compat_tests" / "oracle" / "kafka"

# What each question has besides, where it does not say otherwise (None: without it).
WITH = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
VALUES = {
    "INT": ["", "x", "1.5", "0x10", "1e3", " 7 ", "+7", "-2", "-1", "0", "1", "2", "2147483648", "2147483647", "-2147483648"],
    "SHORT": ["", "x", "1.5", " 7 ", "-1", "0", "1", "32768", "32767"],
    "LONG": ["", "x", "1.5", "0x10", " 7 ", "+7", "-2", "-1", "0", "1", "2", "9223372036854775808", "9223372036854775807",
             "-9223372036854775808"],
    "DOUBLE": ["", "x", "NaN", "-1", "-0.001", "0", "0.5", "1", "1.001", "1e400", "Infinity", "0x1p-1"],
    "BOOLEAN": ["", "x", "yes", "1", "TRUE", " false ", "true"],
    "LIST": ["", " ", ",", "a", "a,a", "a,,b", "a, b", "*", " x "],
    "STRING": ["", " ", "x", "X y"],
    "PASSWORD": ["", "x"],
    "CLASS": ["", "no.Such", "java.lang.String"],
}
HEARTBEAT, MAX_HEARTBEAT = "group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"
CLEANERS, BUFFER = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
VOTERS, SERVERS = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
MAP, NAME = "listener.security.protocol.map", "inter.broker.listener.name"
TOGETHER = [
    {HEARTBEAT: "20000", MAX_HEARTBEAT: "20000"}, {HEARTBEAT: "20001", MAX_HEARTBEAT: "20000"},
    {"log.retention.ms": "5", "log.retention.hours": "0"}, {"log.retention.minutes": "0", "log.retention.ms": "-1"},
    {"log.retention.hours": "-5"}, {"log.retention.ms": "-2"},
    {CLEANERS: "200", BUFFER: "209715400"}, {CLEANERS: "2", BUFFER: "2097152"}, {CLEANERS: "2", BUFFER: "2097154"},
    {CLEANERS: "-1"}, {CLEANERS: "128"}, {CLEANERS: "127"},
    *({"connections.max.idle.ms": text} for text in ("100", "101", "-1")),
    *({"queued.max.request.bytes": text} for text in ("104857600", "104857599", "0", "-1", "-2")),
    {"queued.max.request.bytes": "2000", "socket.request.max.bytes": "2000"},
    {"cordoned.log.dirs": "/a", "log.dirs": "/a,/b"}, {"cordoned.log.dirs": "/c", "log.dirs": "/a,/b"},
    {"cordoned.log.dirs": "*"}, {"cordoned.log.dirs": "*,/x", "log.dirs": "/a"},
    *({"early.start.listeners": text} for text in ("PLAINTEXT", "CONTROLLER", "plaintext", "OTHER")),
    *({NAME: text} for text in ("PLAINTEXT", "plaintext", " PLAINTEXT ", "CONTROLLER", "OTHER", "SSL")),
    {NAME: "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
    {"replica.fetch.wait.max.ms": "500", "replica.lag.time.max.ms": "500"},
    {"replica.fetch.wait.max.ms": "501", "replica.lag.time.max.ms": "500"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
    *({VOTERS: text} for text in ("1@h", "x@h:1", "1@h:99999", "1@h:0", "1@:9093", " 1@h:1 , 2@h:2", "1@[::1]:9093",
                                  "99999999999@h:1")),
    *({SERVERS: text} for text in ("h:99999", "h:0", ":9", "[::1]:9", "http://h:9", "h:9,h", "h:x")),
    {"node.id": None, "broker.id": "1"}, {"broker.id": "2"}, {"broker.id": "1"}, {"broker.id": "-1"},
    *({"listeners": text} for text in ("CONTROLLER://:9093", "PLAINTEXT://:9092,CONTROLLER://:9092",
                                       "controller://:9093,PLAINTEXT://:9092")),
    {"controller.listener.names": "controller"},
    {MAP: "PLAINTEXT:PLAINTEXT"}, {MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"},
    *({"advertised.listeners": text} for text in ("PLAINTEXT://h:1,CONTROLLER://h:2", "CONTROLLER://h:2",
                                                  "PLAINTEXT://0.0.0.0:1")),
    {"listeners": "IN://:9092,CONTROLLER://:9093", MAP: "IN:PLAINTEXT,CONTROLLER:PLAINTEXT", NAME: "IN"},
    {"zookeeper.connect": "zk:2181"}, {"no.such.key": "x"},
]

TEXTS = [
    "", "a", "a=b", "a = b", "a:b", "a b", "a\tb", "a\x0cb", "a=b ", "  a=b", "#a=b", "!a=b", "  # x", "a=b#c",
    "a=\\\n b", "a=\\\r\n\tb", "a=b\\", "a=b\\\\\nc=d", "a\\ b=c", "a\\=b=c", "a\\:b:c", "a==b", "a=:b", "a :=b",
    "a = = b", "a=\\u0041", "a=\\u00e9", "a=\\u12", "a=\\u12G4", "a=\\uD83D\\uDE00", "a=\\uDE00",
    "a=\\uDE00\\uD83D", "\\\n  ", "\\\n\n", "\\\n#a\nb=c", "x\\\n#a", "a=\\t\\n\\r\\f\\q\\\\", "\\u0061=1",
    "a=1\na=2", "=x", ":x", " =x", "a\\\nb=c", "a\\\n  b = c\\\n  d", "# c \\\na=b", "a=b\rc=d", "a=b\r\nc=d",
    "a=b\n\n\nc=d", "a=\\\n#b", "a=\\\n\nb=c", "a=\\\n   \nb=c", "\\", "\\\n", "\\\n\\\na=b", "a=b\\\n", "a\\",
    "\\=\\:=\\ x", "a=\\  b", "caf\u00e9=na\u00efve", "a=b\x00c", "a\x0b=b", "\x0ba=b", "a=b\x85c=d", "a=\u00a0b",
    "a=\\\u00e9", "k=v\x1ac", "k\\tx=v", "k=\\u0020v", "k=v\\u0020", "a=${env:X}", "a,b=c", "!\n=", "#\\\n",
    "a= \\\n b", "a=b\\ \nc=d", "  \\\n  a=b", "\\ =b", "\\\t=b", "a=\\U0041", "a=\\u 041", "a=\\u+041",
]
PIECES = ["a", "b", "=", ":", " ", "\t", "\f", "\n", "\r", "\\", "\\", "#", "!", "\\u0041", "0", "t", "\\u00", "\\\n",
          "\u00e9", "x"]
RANDOM_TEXTS = 420


def ask(mode, questions=()):
    """The answers' objects, in order."""
    lines = "\n".join(json.dumps(question) for question in questions)
    out = subprocess.run([KAFKA, "java", HERE / "BrokerConfigs.java", mode], input=lines, capture_output=True,
                         check=True, encoding="utf-8")
    return [json.loads(line) for line in out.stdout.split("\n") if line.startswith("{")]


def judged(settings):
    def full(some):
        return {name: value for name, value in {**WITH, **some}.items() if value is not None}

    answers = ask("judge", [{"settings": full(some)} for some in settings])
    return [{"with": some, "message": answer["message"]} for some, answer in zip(settings, answers, strict=True)]


def alone(keys):
    """Each key with values that are good and bad, and those at the edges of its range."""
    for key in keys:
        texts = list(VALUES[key["type"]])
        allowed = key["allowed"] or ""
        if key["validator"].endswith("Range"):
            number = float if key["type"] == "DOUBLE" else int
            edges = [number(text) for text in re.findall(r"-?\d+(?:\.\d+)?", allowed)]
            texts += [str(edge + step) for edge in edges for step in (-1, 0, 1)]
        elif "[" in allowed and "Lambda" not in key["validator"]:
            items = allowed[allowed.index("[") + 1:allowed.index("]")].split(", ")
            texts += [*items, items[0].lower(), items[0].upper(), ",".join(items), f"{items[0]},{items[0]}"]
        yield from ({key["name"]: text} for text in dict.fromkeys(texts))


def few(rows):
    """Two of each key that are taken, one that is refused for each reason, and the edges of ranges."""
    seen = {}
    for row in rows:
        (name, value), = row["with"].items()
        message = row["message"]
        reason = message and re.sub(r"[-+]?[\d.]+", "N", re.sub("^Invalid value .* for configuration", "", message))
        seen[name, reason] = seen.get((name, reason), 0) + 1
        is_edge = message is not None and "Value must be" in message and re.fullmatch(r"-?\d+", value)
        if seen[name, reason] <= (2 if message is None else 1) or (is_edge and seen[name, reason] <= 3):
            yield row


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(path, len(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    keys = ask("keys")
    told = ("name", "type", "default", "allowed", "internal")
    write(out / "broker-config-keys.jsonl", [{each: key[each] for each in told} for key in keys])
    rows = [*few(judged(list(alone([{**key, "validator": key["validator"] or ""} for key in keys])))), *judged(TOGETHER)]
    unique = {json.dumps(row["with"]): row for row in rows}
    write(out / "broker-config-answers.jsonl", sorted(unique.values(), key=lambda row: sorted(row["with"])))
    chance = random.Random(5)
    texts = [*TEXTS, *("".join(chance.choices(PIECES, k=chance.randrange(1, 24))) for _ in range(RANDOM_TEXTS))]
    data = [text.encode("latin-1") for text in texts] + ["k=na\u00efve".encode(), "k=\u20ac".encode()]
    answers = ask("properties", [{"text": base64.b64encode(each).decode()} for each in data])
    write(out / "properties-answers.jsonl",
          [{**row, "text": each.decode("latin-1")} for row, each in zip(answers, data, strict=True)])


if __name__ == "__main__":
    main()

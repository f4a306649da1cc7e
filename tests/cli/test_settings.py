"""Files, the environment and the command line, put together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.listening import host_resolves
from kafkalite.cli.settings import Settings, gather
from kafkalite.config.listeners import parse_listeners
from kafkalite.config.views import BrokerConfig

HERE = {"localhost", "127.0.0.1", "0.0.0.0"}


def gathered(
    *assignments: str, files: Sequence[Path] = (), port: int | None = None, **environment: str
) -> Settings:
    return gather(
        files=[str(file) for file in files],
        assignments=assignments,
        environment=environment,
        port=port,
        resolves=HERE.__contains__,
    )


def refusal(
    *assignments: str, files: Sequence[Path] = (), port: int | None = None, **environment: str
) -> str:
    with pytest.raises(WrongUseError) as refused:
        gathered(*assignments, files=files, port=port, **environment)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("latin-1"))
    return path


def test_nothing_is_set() -> None:
    assert gathered(PATH="/bin", CLUSTER_ID="of-another-program") == Settings({}, (), {})


def test_each_source_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    first = write(tmp_path / "first", "num.partitions=1\nnum.io.threads=1\nmin.insync.replicas=1")
    second = write(tmp_path / "second", "num.partitions = 2\nnum.io.threads: 2\n")
    files = (first, second)
    found = gathered("num.partitions=4", files=files, KAFKA_NUM_PARTITIONS="3")
    assert found.values["num.partitions"] == "4"
    assert found.values["num.io.threads"] == "2"
    assert found.values["min.insync.replicas"] == "1"
    found = gathered(files=files, KAFKA_NUM_PARTITIONS="3")
    assert found.values["num.partitions"] == "3"


def test_of_two_assignments_the_last_holds() -> None:
    assert gathered("node.id=1", " node.id =2").values == {"node.id": "2"}
    assert gathered("broker.rack=a=b").values == {"broker.rack": "a=b"}


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    file = write(tmp_path / "f", "# c\n broker.rack : r\\u00e4ck \\\n   1 \nlog.dirs /a\\tb\n")
    assert gathered(files=[file]).values == {"broker.rack": "r\u00e4ck 1 ", "log.dirs": "/a\tb"}


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert refusal(files=[missing]) == f"--config {missing}: No such file or directory"
    assert refusal(files=[tmp_path]).startswith(f"--config {tmp_path}: ")
    damaged = write(tmp_path / "damaged", "a=\\u00g0")
    assert refusal(files=[damaged]).startswith(f"--config {damaged}: line 1: \\u without")
    endless = write(tmp_path / "endless", "a" * (1 << 20) + "=")
    assert refusal(files=[endless]) == f"--config {endless}: it is longer than 1048576 bytes"


def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(Path(sys.executable).read_bytes()[: 1 << 19])
    assert refusal(files=[program]) == (
        f"--config {program}: this is no properties file, but a binary one"
    )


def test_values_that_contradict_each_other_are_told_with_their_places(tmp_path: Path) -> None:
    file = write(tmp_path / "f", "# times\ngroup.share.max.session.timeout.ms=1\n")
    told = refusal(files=[file], KAFKA_GROUP_SHARE_MIN_SESSION_TIMEOUT_MS="2")
    assert told.endswith(
        f"; see group.share.max.session.timeout.ms ({file}:2) and "
        "group.share.min.session.timeout.ms (KAFKA_GROUP_SHARE_MIN_SESSION_TIMEOUT_MS)"
    )


def test_where_a_bad_value_comes_from_is_told(tmp_path: Path) -> None:
    allowed = "allowed is a whole number from 1 to 2147483647"
    assert refusal("num.partitions=x") == f"num.partitions=x (--set): {allowed}"
    assert refusal(KAFKA_CFG_NUM_PARTITIONS="0") == (
        f"num.partitions=0 (KAFKA_CFG_NUM_PARTITIONS): {allowed}"
    )
    file = write(tmp_path / "f", "num.partitions=-1")
    assert refusal(files=[file]) == f"num.partitions=-1 ({file}:1): {allowed}"


def test_a_bad_value_that_a_stronger_source_replaces_is_none(tmp_path: Path) -> None:
    file = write(tmp_path / "f", "process.roles=to be overridden")
    assert gathered(files=[file], KAFKA_PROCESS_ROLES="broker").values == {
        "process.roles": "broker"
    }


@pytest.mark.parametrize("text", ["num.partitions", "=3", " =3", ""])
def test_an_assignment_without_key_or_value(text: str) -> None:
    assert refusal(text) == f"--set {text}: expected KEY=VALUE, such as num.partitions=3"


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        (["log.dir=/a"], "/a"),
        (["log.dir=/a", "log.dirs=/b"], "/b"),
        (["log.dirs= /b , /b "], "/b"),
    ],
)
def test_the_data_folder_under_either_name(settings: list[str], folder: str) -> None:
    assert gathered(*settings).values["log.dirs"] == folder


def test_data_may_be_over_several_folders() -> None:
    assert gathered(KAFKA_LOG_DIRS="/a, /b,/a").values["log.dirs"] == "/a,/b"


def test_a_cluster_id_counts_beside_a_brokers_variable() -> None:
    for found in (
        gathered(KAFKA_NODE_ID="1", CLUSTER_ID="x"),
        gathered(ALLOW_PLAINTEXT_LISTENER="yes", KAFKA_KRAFT_CLUSTER_ID="x"),
    ):
        assert found.values["kafkalite.cluster.id"] == "x"


@pytest.mark.parametrize("variable", ["CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID"])
def test_a_cluster_id_alone_counts_when_it_is_such_as_kafka_makes(variable: str) -> None:
    found = gathered(port=None, files=(), **{variable: "MkU3OEVBNTcwNTJENDM2Qk"})
    assert found.values == {"kafkalite.cluster.id": "MkU3OEVBNTcwNTJENDM2Qk"}
    assert gathered(port=None, files=(), **{variable: "lkc-12345"}).values == {}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KAFKA_HEAP_OPTS", "-Xmx1g"),
        ("KAFKA_PASS", "x"),
        ("KAFKA_COMPRESSION_TYPE", "gzip"),
        ("KAFKA_SASL_MECHANISM", "PLAIN"),
    ],
)
def test_a_cluster_id_beside_other_variables_is_of_another_program(
    tmp_path: Path, variable: str, value: str
) -> None:
    file = write(tmp_path / "f", "node.id=1")
    found = gathered(files=[file], port=None, CLUSTER_ID="prod eks", **{variable: value})
    assert "kafkalite.cluster.id" not in found.values


def test_a_value_that_only_a_client_takes_does_not_hold_up_the_start() -> None:
    found = gathered(
        KAFKA_COMPRESSION_TYPE="none", KAFKA_REQUEST_TIMEOUT_MS="30s", KAFKA_NUM_PARTITIONS="3"
    )
    assert found.values == {"num.partitions": "3"}
    assert found.notes == (
        "warning: KAFKA_COMPRESSION_TYPE is taken for a client's and left out; as a broker's "
        "setting, compression.type=none (KAFKA_COMPRESSION_TYPE): allowed is uncompressed, zstd, "
        "lz4, snappy, gzip or producer",
        "warning: KAFKA_REQUEST_TIMEOUT_MS is taken for a client's and left out; as a broker's "
        "setting, request.timeout.ms=30s (KAFKA_REQUEST_TIMEOUT_MS): allowed is a whole number "
        "from -2147483648 to 2147483647",
    )


def test_what_is_a_brokers_beyond_doubt_is_refused(tmp_path: Path) -> None:
    allowed = "allowed is uncompressed, zstd, lz4, snappy, gzip or producer"
    assert refusal(KAFKA_CFG_COMPRESSION_TYPE="none") == (
        f"compression.type=none (KAFKA_CFG_COMPRESSION_TYPE): {allowed}"
    )
    file = write(tmp_path / "f", "compression.type=none")
    assert refusal(files=[file]) == f"compression.type=none ({file}:1): {allowed}"


def test_listeners_of_a_file_are_stronger_than_what_the_environment_implies(tmp_path: Path) -> None:
    file = write(tmp_path / "f", "listeners=PLAINTEXT://:19092")
    told = "PLAINTEXT://localhost:9092"
    found = gathered(files=[file], KAFKA_ADVERTISED_LISTENERS=told)
    assert found.values["listeners"] == "PLAINTEXT://:19092"
    found = gathered(KAFKA_ADVERTISED_LISTENERS=told)
    assert found.values["listeners"] == "PLAINTEXT://0.0.0.0:9092"


def test_a_port_is_stronger_than_listeners_of_files_and_environment() -> None:
    found = gathered(
        port=0,
        KAFKA_LISTENERS="IN://:1,CONTROLLER://:2",
        KAFKA_ADVERTISED_LISTENERS="IN://kafka:1",
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="IN:PLAINTEXT,CONTROLLER:PLAINTEXT",
        KAFKA_INTER_BROKER_LISTENER_NAME="IN",
        KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER",
    )
    assert found.values == {"listeners": "PLAINTEXT://localhost:0"}
    assert found.notes == (
        "info: --port 0 is stronger than KAFKA_LISTENERS, KAFKA_ADVERTISED_LISTENERS, "
        "KAFKA_CONTROLLER_LISTENER_NAMES, KAFKA_INTER_BROKER_LISTENER_NAME, "
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP",
    )
    assert len(parse_listeners(BrokerConfig.of(found.values))) == 1


def test_a_port_alone_is_nothing_to_talk_about() -> None:
    assert gathered(port=7) == Settings(
        {"listeners": "PLAINTEXT://localhost:7"}, (), {"listeners": "--port"}
    )


def test_a_port_and_assigned_listeners_say_the_same_thing() -> None:
    told = refusal("listeners=PLAINTEXT://:1", port=0)
    assert told == "--port and --set listeners=PLAINTEXT://:1 say the same thing; use one of them"


def test_what_a_port_is_told_under_is_assigned() -> None:
    found = gathered("advertised.listeners=PLAINTEXT://proxy:1", port=0)
    assert found.values["advertised.listeners"] == "PLAINTEXT://proxy:1"


def test_a_host_that_is_not_known_here_becomes_this_machine() -> None:
    found = gathered(
        "listeners= IN://kafka:1 ,OUT://0.0.0.0:2,V6://[::1]:3,ALL://:4,CONTROLLER://kafka:5",
        "listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT,V6:PLAINTEXT,ALL:PLAINTEXT,"
        "CONTROLLER:PLAINTEXT",
        "controller.listener.names=controller",
    )
    assert found.values["listeners"] == (
        "IN://localhost:1,OUT://0.0.0.0:2,V6://[::1]:3,ALL://:4,CONTROLLER://kafka:5"
    )
    assert found.notes[-1] == (
        "warning: this machine knows no host kafka: IN://kafka:1 listens on localhost:1 instead"
    )


SECURED = "listener.security.protocol.map=IN:SASL_SSL,OUT:PLAINTEXT"


@pytest.mark.parametrize("advertised", [None, "OUT://:2", "OUT://:2,IN://:1"])
def test_a_listener_that_wants_what_is_not_spoken_is_left_out(advertised: str | None) -> None:
    told = () if advertised is None else (f"advertised.listeners={advertised}",)
    found = gathered("listeners=IN://:1,OUT://:2", SECURED, "inter.broker.listener.name=in", *told)
    assert found.values["listeners"] == "OUT://:2"
    assert found.values.get("advertised.listeners") in (None, "OUT://:2")
    assert "inter.broker.listener.name" not in found.values
    assert found.notes[-1] == (
        "warning: the listener IN is left out: its sasl.enabled.mechanisms is GSSAPI (Kerberos), "
        "which is not spoken here"
    )
    assert len(parse_listeners(BrokerConfig.of(found.values))) == 1


def test_a_listener_with_sasl_stays() -> None:
    enabled = "listener.name.in.sasl.enabled.mechanisms=GSSAPI,PLAIN"
    found = gathered("listeners=IN://:1,OUT://:2", SECURED, enabled)
    assert found.values["listeners"] == "IN://:1,OUT://:2"


def test_a_listener_of_controllers_may_want_what_it_likes() -> None:
    found = gathered(
        "listeners=OUT://:2,C://:3",
        "listener.security.protocol.map=OUT:PLAINTEXT,C:SSL",
        "controller.listener.names=C",
    )
    assert found.values["listeners"] == "OUT://:2,C://:3"
    assert [note for note in found.notes if "left out" in note] == []


@pytest.mark.parametrize(
    "assignments",
    [
        ["listeners=IN://:1", SECURED],
        ["listeners=IN://:1,OUT://:2", "advertised.listeners=IN://:1", SECURED],
        ["listeners=IN://:1,C://:2", "controller.listener.names=C", f"{SECURED},C:PLAINTEXT"],
        ["listeners=IN://:1", "listener.security.protocol.map=IN"],
        ["listeners=nonsense"],
    ],
)
def test_what_is_left_for_the_broker_to_refuse(assignments: list[str]) -> None:
    found = gathered(*assignments)
    assert found.values["listeners"] == assignments[0].partition("=")[2]


@pytest.mark.parametrize(("host", "is_known"), [("localhost", True), ("k" * 64, False)])
def test_this_machine_is_asked_for_hosts(host: str, is_known: bool) -> None:
    """The second is no name that could be asked for."""
    assert host_resolves(host) is is_known


IMPORTED = """
import os, sys
from kafkalite.cli.settings import gather
gather(files=[], assignments=sys.argv[1:], environment={})
print(*sorted(name for name in sys.modules if name.startswith("kafkalite.config")))
"""


@pytest.mark.parametrize(
    ("assignments", "loads_the_table"),
    [([], False), (["num.partitions=3"], False), (["num.io.threads=3"], True)],
)
def test_the_large_table_is_loaded_when_a_key_of_it_is_set(
    assignments: list[str], loads_the_table: bool
) -> None:
    """Every start pays for what it loads."""
    command = [sys.executable, "-c", IMPORTED, *assignments]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert ("kafkalite.config.described_keys" in loaded) is loads_the_table
    assert bool(loaded) is bool(assignments)

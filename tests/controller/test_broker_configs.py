"""Settings of brokers that are altered while they run: what is kept, and what Kafka refuses."""

from __future__ import annotations

import pytest

from kafkalite.controller.broker_configs import alter_broker, node_id
from kafkalite.controller.config_edits import config_records
from kafkalite.controller.eligible_replicas import ELIGIBLE_REPLICAS
from kafkalite.controller.events import ConfigEdit, ConfigOperation, ResourceEdits
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.types import BrokerId

BROKER = ConfigResourceType.BROKER
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT
ALL, ME = ConfigResource(BROKER, ""), ConfigResource(BROKER, "1")
IN_SYNC = "min.insync.replicas"
IMAGE = MetadataImage(
    features={ELIGIBLE_REPLICAS: 1},
    configs={
        ALL: {IN_SYNC: "1", "log.cleaner.threads": "2"},
        ME: {"message.max.bytes": "5"},
    },
)

OWN = {"socket.request.max.bytes": "1000"}
"""The file of the broker."""


def alter(name: str, *edits: ConfigEdit, replaces_all: bool = False) -> list[Change]:
    wanted = ResourceEdits(ConfigResource(BROKER, name), edits)
    return alter_broker(
        IMAGE, wanted, asked=BrokerId(1), own_settings=OWN, replaces_all=replaces_all
    )


def refusal(name: str, *edits: ConfigEdit, replaces_all: bool = False) -> tuple[ErrorCode, str]:
    with pytest.raises(KafkaError) as refused:
        alter(name, *edits, replaces_all=replaces_all)
    return refused.value.code, refused.value.message


@pytest.mark.parametrize("name", ["", "1"])
def test_what_is_altered_is_kept_whether_it_acts_or_not(name: str) -> None:
    settings = {
        "log.retention.ms": "2000",
        "max.connections": "7",
        "max.connections.per.ip.overrides": "127.0.0.1:3",
        "num.io.threads": "16",
        "some.plug-in": "x",
    }
    records = alter(name, *(ConfigEdit(key, SET, value) for key, value in settings.items()))
    assert records == config_records(ConfigResource(BROKER, name), settings)


def test_lists_grow_and_shrink() -> None:
    longer = alter("1", ConfigEdit("log.cleanup.policy", APPEND, "compact"))
    assert longer == config_records(ME, {"log.cleanup.policy": "delete,compact"})
    shorter = alter("1", ConfigEdit("log.cleanup.policy", SUBTRACT, "delete"))
    assert shorter == config_records(ME, {"log.cleanup.policy": ""})


def test_what_is_kept_may_go() -> None:
    edit = ConfigEdit("log.cleaner.threads", DELETE, None)
    assert alter("", edit) == config_records(ALL, {"log.cleaner.threads": None})
    kept = ConfigEdit(IN_SYNC, SET, "1")
    assert alter("", kept, replaces_all=True) == config_records(
        ALL, {"log.cleaner.threads": None, IN_SYNC: "1"}
    )


def test_all_settings_of_a_broker_are_replaced() -> None:
    records = alter("1", ConfigEdit("log.retention.ms", SET, "6"), replaces_all=True)
    assert records == config_records(ME, {"log.retention.ms": "6", "message.max.bytes": None})


def test_what_changes_nothing_is_granted() -> None:
    assert alter("1") == []
    assert alter("1", ConfigEdit("log.retention.ms", DELETE, None)) == []
    assert alter("1", ConfigEdit("listeners", DELETE, None)) == []
    assert alter("", ConfigEdit("log.cleaner.threads", SET, "2")) == []


def test_in_sync_replicas_of_all_brokers_stay() -> None:
    words = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    assert refusal("", replaces_all=True) == (ErrorCode.INVALID_CONFIG, words)
    assert refusal("", ConfigEdit(IN_SYNC, DELETE, None)) == (ErrorCode.INVALID_CONFIG, words)
    assert alter("", ConfigEdit(IN_SYNC, SET, "2")) == config_records(ALL, {IN_SYNC: "2"})
    assert alter("", ConfigEdit(IN_SYNC, SET, "1")) == config_records(ALL, {IN_SYNC: "1"})
    words = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    assert refusal("1", ConfigEdit(IN_SYNC, SET, "2")) == (ErrorCode.INVALID_CONFIG, words)
    assert refusal("1", ConfigEdit(IN_SYNC, DELETE, None)) == (ErrorCode.INVALID_CONFIG, words)


def test_where_nobody_is_kept_as_eligible_each_broker_may_have_its_own() -> None:
    image = IMAGE._replace(features={})

    def altered(name: str, edit: ConfigEdit) -> list[Change]:
        wanted = ResourceEdits(ConfigResource(BROKER, name), (edit,))
        return alter_broker(image, wanted, asked=BrokerId(1), own_settings=OWN, replaces_all=False)

    assert altered("1", ConfigEdit(IN_SYNC, SET, "2")) == config_records(ME, {IN_SYNC: "2"})
    assert altered("1", ConfigEdit(IN_SYNC, DELETE, None)) == []
    assert altered("", ConfigEdit(IN_SYNC, DELETE, None)) == config_records(ALL, {IN_SYNC: None})


FIXED = "Cannot update these configs dynamically"
BY_LISTENER = (
    "These security configs can be dynamically updated only per-listener using the listener prefix"
)
OF_ONE = "Cannot update these configs at default cluster level, broker id must be specified"
HERE = "kafkalite does not alter these configs while it runs"


@pytest.mark.parametrize(
    ("name", "key", "value", "words"),
    [
        ("1", "log.dirs", "b", f"{FIXED}: [log.dirs]"),
        ("", "node.id", "x", f"{FIXED}: [node.id]"),
        ("1", "kafkalite.record.validation", "full", f"{FIXED}: [kafkalite.record.validation]"),
        ("1", "kafkalite.record", "full", "Unknown broker config name: kafkalite.record"),
        ("", "ssl.keystore.location", "x", f"{BY_LISTENER}: [ssl.keystore.location]"),
        ("1", "ssl.truststore.type", "JKS", f"{BY_LISTENER}: [ssl.truststore.type]"),
        ("1", "ssl.key.password", "x", f"{BY_LISTENER}: [ssl.key.password]"),
        ("", "listeners", "x", f"{OF_ONE}: [listeners]"),
        ("", "ssl.protocol", "TLSv1.3", f"{OF_ONE}: [ssl.protocol]"),
        ("", "sasl.jaas.config", "x", f"{OF_ONE}: [sasl.jaas.config]"),
        ("", "cordoned.log.dirs", "*", f"{OF_ONE}: [cordoned.log.dirs]"),
        ("1", "listeners", "x", f"{HERE}: [listeners]"),
        ("1", "sasl.enabled.mechanisms", "PLAIN", f"{HERE}: [sasl.enabled.mechanisms]"),
        ("", "metric.reporters", "x", f"{HERE}: [metric.reporters]"),
        ("", "listener.name.a.max.connections", "5", f"{HERE}: [listener.name.a.max.connections]"),
        (
            "1",
            "log.cleaner.threads",
            "b",
            "Invalid value b for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            "",
            "max.connections",
            "-1",
            "Invalid value -1 for configuration max.connections: Value must be at least 0",
        ),
        (
            "",
            "max.connections.per.ip.overrides",
            "nonsense",
            "Error parsing configuration property 'max.connections.per.ip.overrides': 'nonsense' is"
            " not HOST:COUNT",
        ),
    ],
)
def test_values_that_are_refused(name: str, key: str, value: str, words: str) -> None:
    assert refusal(name, ConfigEdit(key, SET, value)) == (ErrorCode.INVALID_REQUEST, words)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("listeners", "ssl.keystore.location", "node.id"), f"{FIXED}: [node.id]"),
        (("listeners", "ssl.keystore.type"), f"{BY_LISTENER}: [ssl.keystore.type]"),
        (("listeners", "max.connections"), "Invalid value x for configuration max.connections"),
        (("metric.reporters", "listeners"), f"{OF_ONE}: [listeners]"),
    ],
)
def test_of_several_faults_kafkas_first_is_told(keys: tuple[str, ...], words: str) -> None:
    _, message = refusal("", *(ConfigEdit(key, SET, "x") for key in keys))
    assert message.startswith(words)


@pytest.mark.parametrize(
    ("name", "edit", "code", "words"),
    [
        ("2", None, 42, "Unexpected broker id, expected 1, but received 2"),
        ("one", None, 42, "Node id must be an integer, but it is: one"),
        ("-0", None, 42, "Unexpected broker id, expected 1, but received -0"),
        ("2147483648", None, 42, "Node id must be an integer, but it is: 2147483648"),
        ("1" * 5_000, None, 42, f"Node id must be an integer, but it is: {'1' * 5_000}"),
        ("1", ConfigEdit("a", 9, "b"), 42, "Unknown operations type 9"),
        ("1", ConfigEdit("a", APPEND, "b"), 40, "Unknown config name: a"),
        (
            "1",
            ConfigEdit("message.max.bytes", APPEND, "1"),
            40,
            "Config value append is not allowed for config key: message.max.bytes",
        ),
        (
            "1",
            ConfigEdit("num.partitions", SUBTRACT, "1"),
            40,
            "Config value subtract is not allowed for config key: num.partitions",
        ),
    ],
)
def test_edits_that_are_refused(name: str, edit: ConfigEdit | None, code: int, words: str) -> None:
    edits = () if edit is None else (edit,)
    assert refusal(name, *edits) == (ErrorCode(code), words)


PER_IP, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"
NEEDS_OVERRIDES = f"{PER_IP} can be set to zero only if {OVERRIDES} property is set."


@pytest.mark.parametrize(
    ("name", "key", "value", "words"),
    [
        ("1", PER_IP, "0", NEEDS_OVERRIDES),
        ("", PER_IP, "0", NEEDS_OVERRIDES),
        ("1", "log.retention.ms", "0", "log.retention.ms=0 must be at least 1, or -1 for no limit"),
        ("", "log.roll.ms", "0", "log.roll.ms=0 must be at least 1"),
        ("1", "log.cleaner.threads", "0", "log.cleaner.threads=0 must be at least 1"),
        (
            "1",
            "log.cleaner.dedupe.buffer.size",
            "2000000",
            "log.cleaner.dedupe.buffer.size=2000000 must be more than 1048576 bytes for each of "
            "log.cleaner.threads=2",
        ),
    ],
)
def test_settings_that_contradict_others_are_refused(
    name: str, key: str, value: str, words: str
) -> None:
    """Those of all brokers, of the one, and of its file are looked at together."""
    assert refusal(name, ConfigEdit(key, SET, value)) == (ErrorCode.INVALID_REQUEST, words)


def test_what_another_setting_needs_stays() -> None:
    both = ConfigEdit(PER_IP, SET, "0"), ConfigEdit(OVERRIDES, SET, "127.0.0.1:3")
    assert len(alter("1", *both)) == 2
    image = MetadataImage(configs={ALL: {PER_IP: "0"}, ME: {OVERRIDES: "127.0.0.1:3"}})
    wanted = ResourceEdits(ME, (ConfigEdit(OVERRIDES, DELETE, None),))
    in_file = {OVERRIDES: "127.0.0.2:3"}
    alter_broker(image, wanted, asked=BrokerId(1), own_settings=in_file, replaces_all=False)
    with pytest.raises(KafkaError, match=r"can be set to zero only if"):
        alter_broker(image, wanted, asked=BrokerId(1), own_settings=OWN, replaces_all=False)


def test_a_value_that_is_none_in_the_metadata_is_in_nobodys_way() -> None:
    image = MetadataImage(configs={ME: {"log.cleaner.threads": "b", PER_IP: "few"}})
    wanted = ResourceEdits(ME, (ConfigEdit("max.connections", SET, "5"),))
    assert alter_broker(image, wanted, asked=BrokerId(1), own_settings=OWN, replaces_all=False)


def test_a_node_may_have_any_number() -> None:
    names = ("0", "-1", "17", "+1", "\u0661", "0" * 5_000 + "1")
    assert [node_id(name) for name in names] == [0, -1, 17, 1, 1, 1]

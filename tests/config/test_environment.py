"""Variables and their settings: KAFKA_ as Kafka 4.4.0's own `KafkaDockerWrapper` writes
them, others as bitnami's documents and scripts have them."""

from __future__ import annotations

import pytest

from kafkalite.config.environment import Given, is_uuid, read_environment


def settings(**variables: str) -> dict[str, str]:
    return {name: given.value for name, given in read_environment(variables).settings.items()}


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_LISTENER_NAME_MY__LISTENER_SSL_PROTOCOL", "listener.name.my_listener.ssl.protocol"),
        ("KAFKA_LISTENER_NAME_A___B_SSL_PROTOCOL", "listener.name.a-b.ssl.protocol"),
        ("KAFKA_A____B", "a-.b"),
        ("KAFKA_A_____B", "a-_b"),
        ("KAFKA_A______B", "a--b"),
        ("KAFKA_X_KAFKA_Y", "x.kafka.y"),
        ("KAFKA_CFG_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_CFG_HOME", "home"),
        ("KAFKA_LOGS_DIRS", "log.dirs"),
        ("KAFKA_MAX_MESSAGE_BYTES", "message.max.bytes"),
        ("KAFKA_SEGMENT_BYTES", "log.segment.bytes"),
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_ZOOKEEPER_CONNECT", "zookeeper.connect"),
        ("KAFKA_NO_SUCH_THING", "no.such.thing"),
    ],
)
def test_a_variable_is_a_setting(variable: str, key: str) -> None:
    assert read_environment({variable: " a=b "}).settings == {key: Given(" a=b ", variable)}


@pytest.mark.parametrize(
    "variable",
    [
        *(
            "KAFKA_HEAP_OPTS",
            "KAFKA_OPTS",
            "KAFKA_JMX_PORT",
            "KAFKA_LOG4J_LOGGERS",
            "KAFKA_VERSION",
        ),
        *("KAFKA_REST_LISTENERS", "KAFKA_SSL_KEYSTORE_FILENAME", "KAFKA_SSL_KEY_CREDENTIALS"),
        *("KAFKA_ENABLE_KRAFT", "KAFKA_CLIENT_USERS", "KAFKA_TLS_TYPE", "KAFKA_CLIENT_USERS_FILE"),
        *("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_PORT", "KAFKA_PORT_9092_TCP", "KAFKA_SERVICE_HOST"),
        *("CONFLUENT_METRICS_ENABLE", "BITNAMI_DEBUG", "PATH", "kafka_num_partitions", "KAFKA_"),
    ],
)
def test_a_variable_says_nothing_to_a_broker(variable: str) -> None:
    found = read_environment({variable: "x"})
    assert found.settings == {}
    assert found.listeners is None


def test_the_plain_name_is_stronger_than_bitnamis() -> None:
    assert settings(KAFKA_CFG_NODE_ID="1", KAFKA_NODE_ID="2") == {"node.id": "2"}
    assert settings(KAFKA_SEGMENT_BYTES="1", KAFKA_CFG_LOG_SEGMENT_BYTES="2") == {
        "log.segment.bytes": "1"
    }
    assert settings(KAFKA_LOGS_DIRS="/a", KAFKA_LOG_DIRS="/b") == {"log.dirs": "/a"}


def test_the_id_of_a_new_cluster_under_three_names() -> None:
    three = {"CLUSTER_ID": "a", "KAFKA_CLUSTER_ID": "b", "KAFKA_KRAFT_CLUSTER_ID": "c"}
    for name, value in three.items():
        assert read_environment(three).cluster_id == Given(value, name)
        assert read_environment(three).settings == {}
        three = {**three, name: ""}
    assert read_environment(three).cluster_id is None


def test_ids_that_kafka_makes_are_known() -> None:
    assert is_uuid("MkU3OEVBNTcwNTJENDM2Qk")
    assert is_uuid("4L6g3nShT-eMCtK--X86sw")
    for other in ("", "prod", "lkc-12345", "MkU3OEVBNTcwNTJENDM2Q.", "MkU3OEVBNTcwNTJENDM2Qk=="):
        assert not is_uuid(other)


@pytest.mark.parametrize(
    ("advertised", "listeners"),
    [
        ("PLAINTEXT://localhost:9092", "PLAINTEXT://0.0.0.0:9092"),
        ("A://kafka:1,B://[::1]:2", "A://0.0.0.0:1,B://0.0.0.0:2"),
        ("PLAINTEXT://:9092", "PLAINTEXT://0.0.0.0:9092"),
    ],
)
def test_what_clients_are_told_implies_where_to_listen(advertised: str, listeners: str) -> None:
    name = "KAFKA_ADVERTISED_LISTENERS"
    assert read_environment({name: advertised}).listeners == Given(listeners, name)


def test_no_listeners_and_empty_ones_are_the_same_as_in_the_images() -> None:
    told = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://a:1"}
    assert "listeners" not in read_environment({**told, "KAFKA_LISTENERS": ""}).settings
    assert settings(KAFKA_LISTENERS="") == {"listeners": ""}


@pytest.mark.parametrize(("text", "is_allowed"), [("yes", True), ("TRUE", True), ("no", False)])
def test_bitnamis_permission_to_listen_is_taken_at_its_word(text: str, is_allowed: bool) -> None:
    listeners = read_environment({"ALLOW_PLAINTEXT_LISTENER": text}).listeners
    wanted = Given("PLAINTEXT://:9092", "ALLOW_PLAINTEXT_LISTENER") if is_allowed else None
    assert listeners == wanted


def test_advertised_listeners_say_more_than_the_permission() -> None:
    found = read_environment(
        {
            "ALLOW_PLAINTEXT_LISTENER": "yes",
            "KAFKA_CFG_ADVERTISED_LISTENERS": "PLAINTEXT://127.0.0.1:19092",
        }
    )
    assert found.listeners == Given("PLAINTEXT://0.0.0.0:19092", "KAFKA_CFG_ADVERTISED_LISTENERS")

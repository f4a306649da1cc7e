"""The variables by which images of Kafka name users and files of JAAS; the scripts of the images
say what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.first_users import FirstUser
from kafkalite.cli.image_logins import OPTIONS, with_logins
from kafkalite.cli.main import main
from kafkalite.config.jaas import parse_jaas_value
from kafkalite.config.sasl import FILE

MAP = "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP"
BITNAMI = {
    "KAFKA_CFG_LISTENERS": "INTERNAL://:9093,CLIENT-A://:9092,CONTROLLER://:9094,PLAIN://:9095",
    MAP: "INTERNAL:SASL_SSL,CLIENT-A:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT,PLAIN:PLAINTEXT",
    "KAFKA_CFG_SASL_ENABLED_MECHANISMS": "PLAIN",
}
LOGIN = "KAFKA_CFG_LISTENER_NAME_{}_SASL_JAAS_CONFIG"
IN, CLIENT = LOGIN.format("INTERNAL_PLAIN"), LOGIN.format("CLIENT___A_PLAIN")
OPTION = "-Djava.security.auth.login.config="


def added(environment: dict[str, str]) -> dict[str, str]:
    found, origins, _ = with_logins(environment)
    new = {name: value for name, value in found.items() if environment.get(name) != value}
    assert origins.keys() == new.keys()
    return new


@pytest.mark.parametrize("variable", OPTIONS)
@pytest.mark.parametrize("written", [f"{OPTION}/a", f"-Dx=y {OPTION}/a -Xmx1g", f'"{OPTION}/a"'])
def test_an_option_of_java_names_a_file_of_jaas(variable: str, written: str) -> None:
    (path,) = added({variable: written}).values()
    assert path == "/a"


def test_the_last_one_of_javas_command_is_the_strongest() -> None:
    environment = {"KAFKA_OPTS": f"{OPTION}/a {OPTION}/b", "KAFKA_HEAP_OPTS": f"{OPTION}/c"}
    assert list(added(environment).values()) == ["/b"]
    assert added({"KAFKA_OPTS": "-Dno.java.security.auth.login.config=/a"}) == {}


def test_clients_are_let_in_on_each_listener_and_brokers_on_their_own() -> None:
    logins = added(
        {
            **BITNAMI,
            "KAFKA_CLIENT_USERS": "a,b;c",
            "KAFKA_CLIENT_PASSWORDS": '1,x"\\y;3',
            "KAFKA_INTER_BROKER_USER": "me",
            "KAFKA_INTER_BROKER_PASSWORD": "mine",
        }
    )
    assert logins.keys() == {IN, CLIENT}
    clients = {"user_a": "1", "user_b": 'x"\\y', "user_c": "3"}
    (login,) = parse_jaas_value(logins[CLIENT])
    assert login.options == clients
    (login,) = parse_jaas_value(logins[IN])
    assert login.options == {"username": "me", "password": "mine", **clients, "user_me": "mine"}


def test_what_is_not_said_is_as_the_image_has_it() -> None:
    environment = {name: value for name, value in BITNAMI.items() if "SASL_E" not in name}
    logins = added(environment)
    assert logins.pop("KAFKA_CFG_SASL_ENABLED_MECHANISMS") == "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    (login,) = parse_jaas_value(logins[IN])
    assert login.options == {"username": "user", "password": "bitnami", "user_user": "bitnami"}
    (login,) = parse_jaas_value(logins[LOGIN.format("CLIENT___A_SCRAM___SHA___256")])
    assert login.options == {}
    assert len(logins) == 2 * 3
    mechanisms = ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert with_logins(environment).users == tuple(
        FirstUser(each, "user", "bitnami") for each in mechanisms
    )
    assert with_logins(BITNAMI).users == ()


def test_the_brokers_user_is_one_of_scram_where_brokers_log_in_by_it() -> None:
    environment = {
        **BITNAMI,
        "KAFKA_CFG_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
        "KAFKA_CFG_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "SCRAM-SHA-512",
        "KAFKA_INTER_BROKER_USER": "me",
        "KAFKA_INTER_BROKER_PASSWORD": "mine",
    }
    assert with_logins(environment).users == (
        FirstUser("SCRAM-SHA-512", "user", "bitnami"),
        FirstUser("SCRAM-SHA-512", "me", "mine"),
    )


def test_a_setting_that_is_given_is_stronger() -> None:
    assert added({**BITNAMI, CLIENT: "mine"}).keys() == {IN}


def test_without_sasl_and_in_other_images_users_mean_nothing() -> None:
    users = {"KAFKA_CLIENT_USERS": "a", "KAFKA_CLIENT_PASSWORDS": "b"}
    assert added(users) == {}
    assert added({**users, **BITNAMI, MAP: "INTERNAL:SSL,CLIENT-A:PLAINTEXT"}) == {}
    assert added({**users, **BITNAMI, MAP: "not a map"}) == {}
    assert added({"KAFKA_LISTENERS": "SASL_PLAINTEXT://:9092", **users}) == {}


def test_users_and_passwords_are_as_many() -> None:
    with pytest.raises(WrongUseError, match="names 2 users, and KAFKA_CLIENT_PASSWORDS 1 password"):
        with_logins({**BITNAMI, "KAFKA_CLIENT_USERS": "a,b"})


def test_a_file_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", f"{OPTION}{tmp_path}/missing")
    monkeypatch.setenv("KAFKA_LISTENERS", "SASL_PLAINTEXT://127.0.0.1:0")
    monkeypatch.setenv("KAFKA_SASL_ENABLED_MECHANISMS", "PLAIN")
    assert main(["serve", "--ephemeral"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{FILE}={tmp_path}/missing: No such file" in line
    assert "(KAFKA_OPTS)" in line

"""The variables by which images of Kafka name key stores; the scripts of the images say what
becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.cli import image_stores
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.image_stores import with_key_stores

APACHE = {
    "KAFKA_ADVERTISED_LISTENERS": "SSL://localhost:9093",
    "KAFKA_SSL_KEYSTORE_FILENAME": "k.jks",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "creds",
    "KAFKA_SSL_KEY_CREDENTIALS": "creds",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "t.jks",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "creds",
}
BITNAMI = {
    "KAFKA_CFG_LISTENERS": "IN-SIDE://:9092",
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "IN-SIDE:SSL",
    "KAFKA_CERTIFICATE_PASSWORD": "secret",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the images have their stores."""
    monkeypatch.setattr(image_stores, "SECRETS", str(tmp_path))
    monkeypatch.setattr(image_stores, "_CERTS", str(tmp_path))
    (tmp_path / "creds").write_text("pass word\n\n")
    for name in ("keystore.key", "keystore.pem", "truststore.pem"):
        (tmp_path / f"kafka.{name}").write_text(f"{name} of\nlines\n")
    return tmp_path


def added(environment: dict[str, str]) -> dict[str, str]:
    found, variables = with_key_stores(environment)
    new = {name: value for name, value in found.items() if environment.get(name) != value}
    assert variables.keys() == new.keys()
    return new


def test_apache_and_confluent_have_a_folder_of_secrets(folder: Path) -> None:
    assert added(APACHE) == {
        "KAFKA_SSL_KEYSTORE_LOCATION": f"{folder}/k.jks",
        "KAFKA_SSL_KEYSTORE_PASSWORD": "pass word",
        "KAFKA_SSL_KEY_PASSWORD": "pass word",
    }
    for auth in ("required", "requested"):
        assert added({**APACHE, "KAFKA_SSL_CLIENT_AUTH": auth}).keys() == {
            *("KAFKA_SSL_KEYSTORE_LOCATION", "KAFKA_SSL_KEYSTORE_PASSWORD"),
            *("KAFKA_SSL_KEY_PASSWORD", "KAFKA_SSL_TRUSTSTORE_LOCATION"),
            "KAFKA_SSL_TRUSTSTORE_PASSWORD",
        }


def test_where_they_come_from_can_be_told() -> None:
    _, variables = with_key_stores(APACHE)
    assert variables["KAFKA_SSL_KEYSTORE_LOCATION"] == "KAFKA_SSL_KEYSTORE_FILENAME"
    assert variables["KAFKA_SSL_KEY_PASSWORD"] == "KAFKA_SSL_KEY_CREDENTIALS"


def test_they_are_stronger_than_the_settings_in_those_images(folder: Path) -> None:
    location = "KAFKA_SSL_KEYSTORE_LOCATION"
    assert added({**APACHE, location: "/other"})[location] == f"{folder}/k.jks"


@pytest.mark.parametrize(
    ("advertised", "is_looked_at"),
    [
        ("PLAINTEXT://a:1,SSL://b:2", True),
        ("SASL_SSL://a:1", True),
        ("IN-SSL://a:1", True),
        ("SSL-INTERNAL://a:1", False),
        ("PLAINTEXT://a:1", False),
        ("", False),
    ],
)
def test_they_are_looked_at_where_the_scripts_do(advertised: str, *, is_looked_at: bool) -> None:
    assert bool(added({**APACHE, "KAFKA_ADVERTISED_LISTENERS": advertised})) is is_looked_at


def test_a_file_of_secrets_that_is_not_there(folder: Path) -> None:
    with pytest.raises(WrongUseError) as refused:
        with_key_stores({**APACHE, "KAFKA_SSL_KEY_CREDENTIALS": "none"})
    assert str(refused.value) == (
        f"{folder}/none (KAFKA_SSL_KEY_CREDENTIALS): No such file or directory"
    )


def test_bitnami_has_files_of_fixed_names(folder: Path) -> None:
    (folder / "kafka.keystore.jks").touch()
    (folder / "kafka.truststore.jks").touch()
    assert added(BITNAMI) == {
        "KAFKA_CFG_SSL_CLIENT_AUTH": "required",
        "KAFKA_CFG_SSL_KEYSTORE_TYPE": "JKS",
        "KAFKA_CFG_SSL_TRUSTSTORE_TYPE": "JKS",
        "KAFKA_CFG_SSL_KEYSTORE_LOCATION": f"{folder}/kafka.keystore.jks",
        "KAFKA_CFG_SSL_TRUSTSTORE_LOCATION": f"{folder}/kafka.truststore.jks",
        "KAFKA_CFG_SSL_KEY_PASSWORD": "secret",
        "KAFKA_CFG_SSL_KEYSTORE_PASSWORD": "secret",
        "KAFKA_CFG_SSL_TRUSTSTORE_PASSWORD": "secret",
    }


def test_what_bitnami_does_not_have_should_be_in_the_mounted_folder() -> None:
    for more, folder in (
        ({}, "/bitnami/kafka/config"),
        ({"KAFKA_MOUNTED_CONF_DIR": "/mine"}, "/mine"),
    ):
        found = added({**BITNAMI, **more})
        assert found["KAFKA_CFG_SSL_KEYSTORE_LOCATION"] == f"{folder}/certs/kafka.keystore.jks"


def test_bitnami_takes_pem_and_other_places_too(folder: Path) -> None:
    (folder / "ca").write_text("theirs\n")
    (folder / "password").write_text("from a file\n")
    more = {
        "KAFKA_TLS_TYPE": "PEM",
        "KAFKA_TLS_CLIENT_AUTH": "none",
        "KAFKA_TLS_IN-SIDE_CLIENT_AUTH": "requested",
        "KAFKA_TLS_TRUSTSTORE_FILE": f"{folder}/ca",
        "KAFKA_CERTIFICATE_PASSWORD_FILE": f"{folder}/password",
    }
    assert added({**BITNAMI, **more}) == {
        "KAFKA_CFG_SSL_CLIENT_AUTH": "none",
        "KAFKA_CFG_LISTENER_NAME_IN___SIDE_SSL_CLIENT_AUTH": "requested",
        "KAFKA_CFG_SSL_KEYSTORE_TYPE": "PEM",
        "KAFKA_CFG_SSL_TRUSTSTORE_TYPE": "PEM",
        "KAFKA_CFG_SSL_KEYSTORE_KEY": "keystore.key of\nlines",
        "KAFKA_CFG_SSL_KEYSTORE_CERTIFICATE_CHAIN": "keystore.pem of\nlines",
        "KAFKA_CFG_SSL_TRUSTSTORE_CERTIFICATES": "theirs",
        "KAFKA_CFG_SSL_KEY_PASSWORD": "from a file",
    }


def test_in_bitnamis_image_the_settings_are_stronger() -> None:
    own = {"KAFKA_CFG_SSL_CLIENT_AUTH": "none"}
    assert with_key_stores({**BITNAMI, **own})[0]["KAFKA_CFG_SSL_CLIENT_AUTH"] == "none"


@pytest.mark.parametrize(
    "more",
    [
        {"KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "IN-SIDE:PLAINTEXT"},
        {"KAFKA_CFG_LISTENERS": "OTHER://:1"},
        {"KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "nonsense"},
    ],
)
def test_without_a_listener_that_encrypts_bitnamis_say_nothing(more: dict[str, str]) -> None:
    assert added({**BITNAMI, **more}) == {}


def test_an_environment_without_them_is_what_it_was() -> None:
    environment = {"KAFKA_LISTENERS": "SSL://:1", "KAFKA_NUM_PARTITIONS": "3"}
    assert with_key_stores(environment) == (environment, {})

"""Settings whose values stand somewhere else. What becomes of references is what the real Kafka
4.4.0 makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.settings import Settings, gather

PROVIDERS = "org.apache.kafka.common.config.provider"
DECLARED = [
    "config.providers=file, directory,env,vault",
    f"config.providers.file.class={PROVIDERS}.FileConfigProvider",
    f"config.providers.directory.class={PROVIDERS}.DirectoryConfigProvider",
    f"config.providers.env.class={PROVIDERS}.EnvVarConfigProvider",
    "config.providers.vault.class=org.example.Vault",
    "config.providers.vault.param.token=x",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "f.properties").write_text("n=5\nrack=from\\u0020file \n")
    (tmp_path / "rack").write_text("dirvalue\n")
    return tmp_path


def gathered(*assignments: str, **environment: str) -> Settings:
    return gather(files=[], assignments=assignments, environment=environment)


def refusal(*assignments: str, **environment: str) -> str:
    with pytest.raises(WrongUseError) as refused:
        gathered(*assignments, **environment)
    (line,) = str(refused.value).splitlines()
    return line


def test_references_are_replaced_as_by_kafka(folder: Path) -> None:
    found = gathered(
        *DECLARED,
        f"num.partitions=${{file:{folder}/f.properties:n}}",
        f"broker.rack=x-${{file:{folder}/f.properties:rack}}-${{file:{folder}/f.properties:none}}"
        f"-${{directory:{folder}:rack}}-${{directory:{folder}:none}}"
        "-${env:RACK}-${env:NONE}-${other:x:y}",
        RACK="envvalue",
    )
    assert found.values == {
        "num.partitions": "5",
        "broker.rack": f"x-from file -${{file:{folder}/f.properties:none}}-dirvalue\n"
        f"-${{directory:{folder}:none}}-envvalue-${{env:NONE}}-${{other:x:y}}",
    }
    assert found.notes == tuple(
        f"warning: broker.rack (--set): there is nothing at {reference}"
        for reference in (
            f"${{file:{folder}/f.properties:none}}",
            f"${{directory:{folder}:none}}",
            "${env:NONE}",
        )
    )


def test_without_providers_nothing_is_a_reference() -> None:
    found = gathered("broker.rack=${env:RACK}", RACK="a")
    assert found.values == {"broker.rack": "${env:RACK}"}


def test_what_cannot_be_looked_up_is_told(folder: Path) -> None:
    told = refusal(*DECLARED, "broker.rack=${vault:a:b}")
    assert told.startswith("broker.rack (--set): ${vault:a:b}: this provider is not here; ")
    assert "embedded null byte" in refusal(*DECLARED, "broker.rack=${file:a\0b:c}")
    told = refusal(*DECLARED, f"broker.rack=${{file:{folder}/none:a}}")
    assert told.endswith(f"{folder}/none: No such file or directory")
    assert "num.partitions=none (--set)" in refusal(*DECLARED, "num.partitions=${env:N}", N="none")


def test_a_variable_may_name_a_file(folder: Path) -> None:
    (folder / "id").write_text("MkU3OEVBNTcwNTJENDM2Qk\n")
    found = gathered(
        KAFKA_CFG_BROKER_RACK_FILE=str(folder / "rack"),
        KAFKA_CFG_BROKER_RACK="weaker",
        KAFKA_KRAFT_CLUSTER_ID_FILE=str(folder / "id"),
        KAFKA_CLIENT_PASSWORDS_FILE="of the image's own script",
        KAFKA_TOPIC_FILE="of another program",
    )
    assert found.values == {
        "broker.rack": "dirvalue",
        "kafkalite.cluster.id": "MkU3OEVBNTcwNTJENDM2Qk",
    }
    assert found.origins["broker.rack"] == "KAFKA_CFG_BROKER_RACK_FILE"


def test_a_file_of_a_variable_that_cannot_be_read_is_told(folder: Path) -> None:
    told = refusal(KAFKA_CFG_BROKER_RACK_FILE=f"{folder}/none")
    assert told == f"KAFKA_CFG_BROKER_RACK_FILE={folder}/none: No such file or directory"
    (folder / "bytes").write_bytes(b"\xff")
    assert refusal(KAFKA_BROKER_RACK_FILE=f"{folder}/bytes").endswith("bytes: it is not UTF-8")
    (folder / "long").write_bytes(bytes((1 << 20) + 1))
    assert refusal(KAFKA_BROKER_RACK_FILE=f"{folder}/long").endswith("longer than 1048576 bytes")
    (folder / "n").write_text("x\n")
    assert "num.partitions=x (KAFKA_NUM_PARTITIONS_FILE): allowed" in refusal(
        KAFKA_NUM_PARTITIONS_FILE=f"{folder}/n"
    )

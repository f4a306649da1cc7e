"""A folder that Kafka's `kafka-storage format --add-scram` made (KIP-900): its users are there from
the first start on, and their credentials are what is made of the same passwords here."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient, ScramMechanism

from compat_tests.process import KafkaliteProcess
from compat_tests.real_kafka import KAFKA
from kafkalite.controller.scram import derived_credential
from kafkalite.log.files_os import OsFiles
from kafkalite.metadata.registrations import new_credential
from kafkalite.metadata.scram import ScramMechanism as Mechanism
from kafkalite.protocol.messages.metadata_records import UserScramCredentialRecord
from kafkalite.stores.checkpoint import find_checkpoints, read_checkpoint
from kafkalite.stores.metadata_log import FOLDER

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs={data}
"""
PASSWORDS = {"alice": b"alice-secret", "bob": b"bob-secret"}


def format_with_users(data: Path) -> None:
    properties = data.with_name("server.properties")
    properties.write_text(PROPERTIES.format(data=data))
    users = (
        "SCRAM-SHA-256=[name=alice,password=alice-secret]",
        "SCRAM-SHA-512=[name=bob,iterations=8192,password=bob-secret]",
    )
    options = [word for user in users for word in ("--add-scram", user)]
    words = ["format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(properties), *options]
    subprocess.run(
        [KAFKA, "java", "kafka.tools.StorageTool", *words], check=True, capture_output=True
    )


def test_its_users_are_there(
    tmp_path: Path, start_kafkalite: Callable[..., KafkaliteProcess]
) -> None:
    data = tmp_path / "data"
    format_with_users(data)
    files = OsFiles(str(data))
    (checkpoint,) = find_checkpoints(files, FOLDER)
    for change in read_checkpoint(files, f"{FOLDER}/{checkpoint.name}"):
        if isinstance(change, UserScramCredentialRecord):
            mechanism, made = Mechanism(change.mechanism), new_credential(change)
            salted = hashlib.pbkdf2_hmac(
                mechanism.hash_name, PASSWORDS[change.name], made.salt, made.iterations
            )
            assert made == derived_credential(
                mechanism, salt=made.salt, salted_password=salted, iterations=made.iterations
            )
    broker = start_kafkalite(data)
    with closing(KafkaAdminClient(bootstrap_servers=broker.address)) as admin:
        described = admin.describe_user_scram_credentials()
    assert {user: of_it["credential_infos"] for user, of_it in described.items()} == {
        "alice": [{"mechanism": ScramMechanism.SCRAM_SHA_256, "iterations": 4096}],
        "bob": [{"mechanism": ScramMechanism.SCRAM_SHA_512, "iterations": 8192}],
    }

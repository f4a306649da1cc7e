from __future__ import annotations

import hashlib

from kafkalite.metadata.scram import ScramCredential, ScramMechanism


def test_a_mechanism_has_the_names_of_kafka_and_of_its_hash() -> None:
    assert [(each.mechanism_name, each.hash_name) for each in ScramMechanism] == [
        ("SCRAM-SHA-256", "sha256"),
        ("SCRAM-SHA-512", "sha512"),
    ]
    sizes = [hashlib.new(each.hash_name).digest_size for each in ScramMechanism]
    assert sizes == [32, 64]


def test_iterations_have_bounds() -> None:
    bounds = {(each.min_iterations, each.max_iterations) for each in ScramMechanism}
    assert bounds == {(4096, 16384)}


def test_a_credential_does_not_show_its_keys() -> None:
    shown = repr(ScramCredential(b"salty", b"stored", b"server", 8192))
    assert shown == "ScramCredential(iterations=8192)"

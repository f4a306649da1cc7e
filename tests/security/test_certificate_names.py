"""Java's own answers (`certificate-names.jsonl`; `tests/data/make/certificate_names.py` asks)."""

from __future__ import annotations

import json
from pathlib import Path

from kafkalite.security.certificate_names import subject_name, written
from tests import certificates

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "certificate-names.jsonl").read_text().splitlines()
]


def content(der: bytes) -> bytes:
    """Behind tag and length."""
    return der[2:] if der[1] < 0x80 else der[2 + (der[1] & 0x7F) :]


def test_names_are_written_as_java_writes_them() -> None:
    assert len(ROWS) >= 30
    wrong = [
        (ours, row["name"])
        for row in ROWS
        if (ours := written(content(bytes.fromhex(row["subject"])))) != row["name"]
    ]
    assert wrong == []


def test_of_a_whole_certificate_the_subject_is_named() -> None:
    authority = certificates.authority()
    assert subject_name(authority.party("a, b").der) == "CN=a\\, b"
    # The first version of certificates says no version.
    tbs = bytes.fromhex("020101 3000 3000 3000 300e310c300a06035504030c03616c69")
    signed = bytes((0x30, len(tbs))) + tbs
    assert subject_name(bytes((0x30, len(signed))) + signed) == "CN=ali"

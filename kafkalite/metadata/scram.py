"""SCRAM credentials as the metadata keeps them (KIP-554): of each user and mechanism what a broker
needs to check a password, and never the password.

How they are made of a salted password is in `controller/scram.py`.

Source: Kafka's `ScramMechanism`, `ScramCredentialData`, `ScramImage`; RFC 5802.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from enum import IntEnum
from typing import NamedTuple


class ScramMechanism(IntEnum):
    """The protocol's numbers for the mechanisms that Kafka has."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """As SASL and Kafka's settings name it, `SCRAM-SHA-256`."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """As `hashlib` names what it hashes by, `sha256`."""
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()

    @property
    def min_iterations(self) -> int:
        """Inclusive. A credential of fewer is refused, and a client refuses to use one."""
        return 4096

    @property
    def max_iterations(self) -> int:
        """Inclusive. A credential of more is refused."""
        return 16384


class ScramKey(NamedTuple):
    """Whose credential, and of which mechanism: a user has at most one of each."""

    mechanism: int
    """A `ScramMechanism`, or a number that only a newer Kafka knows."""
    user: str


class ScramCredential(NamedTuple):
    """What a broker needs to check a password by (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    """The hash of what a client proves that it has."""
    server_key: bytes
    """What the broker proves that it has."""
    iterations: int

    def __repr__(self) -> str:
        """Without what somebody could pose as the broker by, or guess the password from."""
        return f"ScramCredential(iterations={self.iterations})"

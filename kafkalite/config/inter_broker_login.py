"""As whom a broker logs in to the others, where the listener that brokers talk on speaks SASL: by
`sasl.mechanism.inter.broker.protocol`, as the username with the password in that listener's own
logins of JAAS for that mechanism.

Source: Kafka's `SaslClientAuthenticator`, `SaslClientCallbackHandler`, `JaasContext`.

Kafka differs: it starts without a username there, and no broker gets through to another. Here one
that has others beside it refuses to start. GSSAPI and OAUTHBEARER are not spoken between
brokers here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalite.config.jaas import JaasEntry
from kafkalite.config.listeners import ListenersError
from kafkalite.config.sasl import PLAIN, SCRAM

_SPOKEN: Final = (PLAIN, *SCRAM)
_MECHANISM: Final = "sasl.mechanism.inter.broker.protocol"


class InterBrokerLogin(NamedTuple):
    """What is shown to the others."""

    mechanism: str
    """PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""
    username: str
    password: str

    def __repr__(self) -> str:
        return f"InterBrokerLogin({self.mechanism}, {self.username!r})"


def inter_broker_login(
    mechanism: str, logins: Sequence[JaasEntry], setting: str
) -> InterBrokerLogin:
    """By that mechanism, with what stands first in `logins`, whichever of them has it; `setting` is
    where they stand. `ListenersError` for what cannot be."""
    if mechanism not in _SPOKEN:
        raise ListenersError(
            f"Invalid value {mechanism} for configuration {_MECHANISM}: it is not spoken between "
            "brokers",
            (_MECHANISM,),
            f"allowed are {', '.join(_SPOKEN)}",
        )
    username, password = _first(logins, "username"), _first(logins, "password")
    if not username or password is None:
        raise ListenersError(
            f"{setting} has no username and password, with which this broker logs in to the others",
            (setting, _MECHANISM),
            'say username="..." and password="..." there',
        )
    return InterBrokerLogin(mechanism, username, password)


def _first(logins: Sequence[JaasEntry], option: str) -> str | None:
    return next((each.options[option] for each in logins if option in each.options), None)

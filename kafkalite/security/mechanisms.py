"""The mechanisms of one listener: what an exchange by each of them begins with."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.config.sasl import OAUTHBEARER, PLAIN, SaslSettings
from kafkalite.security.exchange import SaslExchange
from kafkalite.security.oauthbearer import OAuthBearerExchange, UnsecuredValidator
from kafkalite.security.plain import PlainExchange, passwords
from kafkalite.security.scram import HASHES, Credential, ScramExchange, nonce_of

FindCredential = Callable[[str, str], Credential | None]
"""By mechanism and name of a user."""


class Mechanisms:
    """As its settings have them."""

    def __init__(self, settings: SaslSettings) -> None:
        """`ListenersError` for options of a login that make no sense."""
        self.settings = settings
        found = settings.mechanisms
        self._users = passwords(found[PLAIN].logins) if PLAIN in found else {}
        self._validator = None
        if OAUTHBEARER in found:
            login = found[OAUTHBEARER]
            self._validator = UnsecuredValidator(login.logins[0], login.setting)

    @property
    def plain_without_users(self) -> str | None:
        """The setting by which PLAIN lets nobody in; None: there is none such."""
        plain = self.settings.mechanisms.get(PLAIN)
        return None if plain is None or self._users else plain.setting

    def begin(self, name: str, find: FindCredential, random: bytes) -> SaslExchange:
        """An exchange by that mechanism, which is one of them; `random` are `NONCE_BYTES`."""
        if name == PLAIN:
            return PlainExchange(self._users)
        if name == OAUTHBEARER:
            assert self._validator is not None
            return OAuthBearerExchange(self._validator)
        return ScramExchange(HASHES[name], lambda user: find(name, user), nonce_of(random))

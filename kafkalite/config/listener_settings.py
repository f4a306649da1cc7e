"""The settings of one listener: `listener.name.NAME.KEY`, with the name in lower case, is stronger
there than KEY alone."""

from __future__ import annotations

from kafkalite.config.listeners import ListenersError
from kafkalite.config.views import BrokerConfig
from kafkalite.errors import KafkaError


class ListenerSettings:
    """Those whose keys begin in one of some ways."""

    def __init__(self, config: BrokerConfig, listener: str, begins: tuple[str, ...]) -> None:
        """`ListenersError` for a value that its key does not take."""
        self.prefix = f"listener.name.{listener.lower()}."
        starts = tuple(f"{self.prefix}{begin}" for begin in begins)
        self._own = {
            name.removeprefix(self.prefix): text
            for name, text in config.settings.items()
            if name.startswith(starts)
        }
        self.config = config
        """As this listener sees it."""
        if self._own:
            try:
                self.config = BrokerConfig.of({**config.settings, **self._own})
            except KafkaError as error:
                names = tuple(f"{self.prefix}{name}" for name in self._own)
                remedy = "mend it, or leave it out"
                raise ListenersError(f"{self.prefix}: {error.message}", names, remedy) from error

    def is_own(self, setting: str) -> bool:
        """Whether it is set for this listener alone."""
        return setting in self._own

    def of(self, setting: str) -> str:
        """Under which name it is set."""
        return f"{self.prefix}{setting}" if setting in self._own else setting

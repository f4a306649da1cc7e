"""What a broker says while it runs, on standard error: a line an event, for people or as JSON."""

from __future__ import annotations

import logging
import sys
from typing import Literal

LogFormat = Literal["text", "json"]

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One object a line: `time` (UTC), `level`, `logger`, `message`, `exception` (a traceback,
    where there is one), and what the event carries in `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        import json
        from datetime import UTC, datetime

        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event: dict[str, object] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        extra = {key: value for key, value in vars(record).items() if key not in _OF_EVERY_RECORD}
        return json.dumps(event | extra, default=str)


def start_logging(how: LogFormat) -> None:
    """Send all that is logged to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonLines() if how == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def log_note(note: str) -> None:
    """A line of `Settings.notes`, which says its level first."""
    level, _, message = note.partition(": ")
    logging.getLogger(__name__).log(
        logging.WARNING if level == "warning" else logging.INFO, "%s", message
    )

"""The panels of the help."""

from __future__ import annotations

from cyclopts import Group

BROKER = Group("A broker", sort_key=1)
CLUSTER = Group("Any Kafka cluster", sort_key=2)
FOLDERS = Group("Files of a broker", sort_key=3)
OPTIONS = Group("Options", sort_key=4)

"""`meta.properties`: whose log folder it is, so that no broker takes another's by mistake.

A Java properties file of version 1 (KIP-631, KIP-858): the node, the cluster, and an id of the
folder itself.

Kafka differs: it starts on no folder that `kafka-storage format` has not prepared. Here the first
start formats an empty one.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.types import BrokerId, Uuid, format_uuid, parse_uuid

META_PROPERTIES = "meta.properties"


class LogDirectoryError(Exception):
    """A log folder that this broker must not use; the message says which and why."""


class Meta(NamedTuple):
    """`meta.properties`, version 1."""

    node_id: BrokerId
    cluster_id: str
    directory_id: Uuid


def claim(files: Files, location: str, new: Meta) -> Meta:
    """What `meta.properties` says, written from `new` when there is none."""
    data = read_file(files, META_PROPERTIES)
    if data is None:
        files.replace(META_PROPERTIES, format_meta(new))
        return new
    meta = parse_meta(data, location)
    if meta.node_id != new.node_id:
        raise LogDirectoryError(
            f"the log folder {location} belongs to node {meta.node_id}, not to {new.node_id}"
        )
    return meta


def format_meta(meta: Meta) -> bytes:
    """The content of `meta.properties`."""
    return (
        f"#\nnode.id={meta.node_id}\ndirectory.id={format_uuid(meta.directory_id)}\n"
        f"version=1\ncluster.id={meta.cluster_id}\n"
    ).encode()


def parse_meta(data: bytes, location: str) -> Meta:
    """The inverse of `format_meta`, for what Kafka wrote as well."""
    try:
        lines = [line.strip() for line in data.decode().splitlines()]
        said = [line.partition("=") for line in lines if line and line[0] not in "#!"]
        values = {key: value for key, _, value in said}
        if values["version"] != "1":
            raise LogDirectoryError(
                f"{location}/{META_PROPERTIES} has version {values['version']}; only 1 is known"
            )
        return Meta(
            BrokerId(int(values["node.id"])),
            values["cluster.id"].replace("\\", ""),
            parse_uuid(values["directory.id"]),
        )
    except KeyError as error:
        raise LogDirectoryError(
            f"{location}/{META_PROPERTIES} is damaged: it has no {error.args[0]}"
        ) from error
    except ValueError as error:
        raise LogDirectoryError(f"{location}/{META_PROPERTIES} is damaged: {error}") from error

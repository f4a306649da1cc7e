"""`kafkalite verify-log`: whether a log folder, or a partition's, is sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkalite.cli.errors import CommandError
from kafkalite.cli.output import Output, counted, print_json
from kafkalite.cli.printable import printable
from kafkalite.cli.progress import bytes_done
from kafkalite.log.claimed_folder import LOCK
from kafkalite.log.files_os import OsFiles
from kafkalite.log.folder_names import parse_partition
from kafkalite.log.meta_properties import META_PROPERTIES
from kafkalite.log.verification import Extent, Verification, extent_of, log_bytes


def verify_log(folder: Path, /, *, output: Output = Output()) -> None:
    """Check a data folder, or one partition's: CRCs, offsets, indexes, epochs, snapshots.

    Files are only read, and no broker may run on them meanwhile. Each finding is a line; the exit
    code is 1 if there is one.

    Args:
        folder: of a broker's data, kafkalite's or Kafka's, or of one partition in it
    """
    path = folder.absolute()
    if not path.is_dir():
        raise CommandError(f"{folder}: no such folder")
    is_partition = parse_partition(path.name) is not None and not _is_log_folder(path)
    if (path / "metadata" / META_PROPERTIES).exists():
        raise CommandError(
            f"{folder} is the folder of a cluster: verify those in it, metadata, broker-1 and so on"
        )
    if not is_partition and not _is_log_folder(path):
        raise CommandError(f"{folder} is neither a broker's data folder nor a partition's")
    files = OsFiles(str(path.parent if is_partition else path))
    try:
        with _nobody_writes(files, path.parent if is_partition else path):
            findings = _verified(files, path.name if is_partition else None, output)
    except OSError as error:
        raise CommandError(f"{error.filename or folder}: {error.strerror or error}") from error
    if findings:
        raise CommandError(f"{counted(findings, 'finding')} in {folder}")


def _verified(files: OsFiles, partition: str | None, output: Output) -> int:
    """How many findings there are, all told."""
    if partition is None:
        extent = extent_of(files)
    else:
        extent = Extent((), log_bytes(files, partition), was_clean=True)
    with bytes_done(extent.log_bytes) as advanced:
        verification = Verification(files, advanced)
        found = list(
            verification.log_folder(extent)
            if partition is None
            else verification.partition(partition)
        )
    count = 1 if partition is not None else len(extent.partitions)
    if output.json:
        document = {
            "partitions": count,
            "log_bytes": extent.log_bytes,
            "clean_stop": None if partition is not None else extent.was_clean,
            "findings": [finding._asdict() for finding in found],
        }
        print_json(document)
        return len(found)
    for finding in found:
        print(printable(str(finding)))
    if not found:
        how = "" if extent.was_clean else "; its broker did not stop cleanly"
        amount = f"{counted(count, 'partition')} with {counted(extent.log_bytes, 'byte')}"
        print(f"{amount} of records: sound{how}")
    return len(found)


def _is_log_folder(path: Path) -> bool:
    if (path / META_PROPERTIES).exists():
        return True
    return any(parse_partition(each.name) and each.is_dir() for each in path.iterdir())


@contextmanager
def _nobody_writes(files: OsFiles, root: Path) -> Iterator[None]:
    """Hold the lock of the log folder, if it has one: what is written meanwhile looks damaged."""
    if not files.exists(LOCK):
        yield
        return
    try:
        lock = files.lock(LOCK)
    except BlockingIOError as error:
        raise CommandError(
            f"a broker runs on {root} (it holds {LOCK}): stop it first, or verify a copy"
        ) from error
    except PermissionError:
        yield  # Of a folder that can only be read.
        return
    try:
        yield
    finally:
        lock.release()

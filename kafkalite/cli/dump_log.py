"""`kafkalite dump-log`: what stands in the files of a partition, told as Kafka's own tool tells it.

Kafka differs: `kafka-dump-log` reads records of magic 0 and 1 too, which this server does not; it
takes decoder classes by name, and has a decoder for the metadata of remote storage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kafkalite.cli.dump_log_decoders import Decoder, cluster_metadata, coordinator, plain
from kafkalite.cli.dump_log_facts import Wish, facts_of
from kafkalite.cli.dump_log_json import row_of
from kafkalite.cli.dump_log_text import TextLines
from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.output import Output, print_json


def dump_log(
    *files: Annotated[Path, Parameter(metavar="FILE")],
    print_data_log: bool = False,
    deep_iteration: bool = False,
    offsets_decoder: bool = False,
    transaction_log_decoder: bool = False,
    share_group_state_decoder: bool = False,
    cluster_metadata_decoder: bool = False,
    skip_record_metadata: bool = False,
    index_sanity_check: bool = False,
    verify_index_only: bool = False,
    max_bytes: int | None = None,
    output: Output = Output(),
) -> None:
    """Tell what stands in the files of a partition: logs, indexes, snapshots.

    Of a log each batch is told; the names of the options are those of Kafka's tool. Files are only
    read; a broker may run on them.

    Args:
        files: such as 00000000000000000000.log
        print_data_log: tell keys and values too
        deep_iteration: tell each record, not only each batch
        offsets_decoder: keys and values are those of __consumer_offsets
        transaction_log_decoder: they are those of __transaction_state
        share_group_state_decoder: they are those of __share_group_state
        cluster_metadata_decoder: they are those of __cluster_metadata
        skip_record_metadata: of records tell keys and values alone
        index_sanity_check: of indexes tell only whether a start would believe them
        verify_index_only: of indexes tell only where they disagree with their log
        max_bytes: of each log read so much at most
    """
    if not files:
        raise WrongUseError("which files? for example topic-0/00000000000000000000.log")
    if max_bytes is not None and max_bytes < 0:
        raise WrongUseError("--max-bytes is a number from 0 up")
    wanted = {
        "__consumer_offsets": offsets_decoder,
        "__transaction_state": transaction_log_decoder,
        "__share_group_state": share_group_state_decoder,
        "__cluster_metadata": cluster_metadata_decoder,
    }
    decoder = _decoder(wanted) or (plain if print_data_log else None)
    wish = Wish(
        records=deep_iteration or decoder is not None,
        max_bytes=max_bytes,
        sanity_only=index_sanity_check,
        verify_only=verify_index_only,
    )
    if output.json:
        for path in files:
            for fact in facts_of(path, wish):
                print_json(row_of(path, fact, decoder))
    else:
        _print_text(files, wish, TextLines(decoder, with_metadata=not skip_record_metadata))


def _decoder(wanted: dict[str, bool]) -> Decoder | None:
    topics = [topic for topic, is_wanted in wanted.items() if is_wanted]
    match topics:
        case []:
            return None
        case ["__cluster_metadata"]:
            return cluster_metadata
        case [topic]:
            return coordinator(topic)
        case _:
            raise WrongUseError("the records are of one kind: give one decoder")


def _print_text(files: tuple[Path, ...], wish: Wish, text: TextLines) -> None:
    write = sys.stdout.write
    try:
        for path in files:
            text.begin(path)
            for fact in facts_of(path, wish):
                for line in text.lines(fact):
                    write(f"{line}\n")
    finally:
        for line in text.complaints():
            write(f"{line}\n")

"""`dump-log` says of Kafka's folders what Kafka's own tool said of them, word for word."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same damage in each run.

import pytest

from kafkalite.cli.dump_log import dump_log
from kafkalite.cli.errors import CommandError, WrongUseError
from kafkalite.cli.output import Output
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import Offset, TimestampMs
from tests.cli.dump_log_sections import in_sections

ROOT = Path(__file__).parent.parent / "data" / "log-dirs"
NAMES = sorted(path.name for path in ROOT.iterdir() if path.is_dir())
JSON = Output(json=True)


def spoken(name: str) -> list[str]:
    """Of one section of complaints in a golden text, the order is that of a hash map."""
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return text[:-2] if text[-2:] == ["Dumping ", "Ignoring unknown file "] else text


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_told_as_kafka_tells_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    told = spoken(name)
    files = [Path(line.removeprefix("Dumping ")) for line in told if line.startswith("Dumping ")]
    if files:
        dump_log(
            *files,
            deep_iteration=True,
            print_data_log=True,
            offsets_decoder=name == "__consumer_offsets-0",
            transaction_log_decoder=name == "__transaction_state-0",
            share_group_state_decoder=name == "__share_group_state-0",
            cluster_metadata_decoder=name == "__cluster_metadata-0",
        )
    said = capsys.readouterr().out.replace(f"{ROOT}/", "").splitlines()
    assert in_sections(said) == in_sections(told)
    assert bool(files) == (name != "streams-out-0")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_without_an_option_only_batches_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    dump_log(ROOT / "plain-0" / "00000000000000000000.log")
    assert [line.split()[0] for line in said(capsys)] == ["Dumping", "Log", *["baseOffset:"] * 3]


def test_record_metadata_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "transactions-0" / "00000000000000000005.log"
    dump_log(file, print_data_log=True, skip_record_metadata=True)
    lines = [line for line in said(capsys) if not line.startswith(("Dumping", "Log", "base"))]
    assert lines[:3] == ["", "| key: k payload: txn 1 abort 0", "| key: k payload: txn 1 abort 1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "segments-0"
    shutil.copytree(ROOT / "segments-0", copy)
    return copy


def flip(path: Path, *places: int) -> None:
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 1
    path.write_bytes(data)


def test_an_index_that_disagrees_with_its_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The words are those of Kafka's tool about the same bytes."""
    index = folder / "00000000000000000370.index"
    times = index.with_suffix(".timeindex")
    flip(index, 3)
    flip(times, 7, 18)
    dump_log(index, times, verify_index_only=True)
    assert said(capsys) == [
        f"Dumping {index}",
        f"Dumping {times}",
        f"Mismatches in :{index}",
        "  Index offset: 388, log offset: 389",
        f"Found timestamp mismatch in :{times}",
        "  Index timestamp: 1700000389001, log timestamp: 1700000389000",
        "  Index timestamp: 1700000399256, log timestamp: 1700000399000",
    ]
    dump_log(index, times, verify_index_only=True, output=JSON)
    rows = [json.loads(line) for line in said(capsys)]
    assert [row["fact"] for row in rows] == [
        "file",
        "offset_mismatch",
        "file",
        "timestamp_mismatch",
        "timestamp_mismatch",
    ]
    assert rows[1] == {
        "file": str(index),
        "fact": "offset_mismatch",
        "offset": 388,
        "position": 1237,
        "found_offset": 389,
    }


def test_a_time_index_out_of_order_and_of_offsets_that_are_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = folder / "00000000000000000370.timeindex"
    entries = times.read_bytes()
    times.write_bytes(entries[12:24] + entries[:12] + (1 << 40).to_bytes(8, "big") + b"\0\0\1\0")
    dump_log(times, verify_index_only=True)
    assert said(capsys)[1:] == [
        f"Found out of order timestamp in :{times}",
        "  Index timestamp: 1700000389000, Previously indexed timestamp: 1700000399000",
        "  Index timestamp: 1099511627776, Previously indexed timestamp: 1700000389000",
        f"The following indexed offsets are not found in :{times}",
        "Indexed offset: 626, found log offset: -1",
    ]


def test_sanity_of_an_index(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = folder / "00000000000000000370.index"
    dump_log(index, index_sanity_check=True)
    index.write_bytes(b"odd")
    dump_log(index, index_sanity_check=True)
    assert said(capsys) == [
        f"Dumping {index}",
        f"{index} passed sanity check.",
        f"Dumping {index}",
        f"{index} did not pass sanity check. It is an offset index of 3 bytes.",
    ]


def test_bytes_that_are_no_batch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "00000000000000000370.log"
    flip(log, 100)
    with log.open("ab") as file:
        file.write(b"garbage at the end of it")
    dump_log(log)
    lines = said(capsys)
    assert lines[2].endswith("isvalid: false")
    assert all(line.endswith("isvalid: true") for line in lines[3:-1])
    assert lines[-1] == "Found 24 invalid bytes at the end of 00000000000000000370.log"
    dump_log(log, max_bytes=2_000)
    assert len(said(capsys)) == 3


def test_records_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = build_batch([Record(b"k", b"v"), Record(b"k", b"w")])
    batch[-9] = 5  # The second record's length.
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(batch)
    dump_log(log, print_data_log=True)
    lines = said(capsys)
    assert lines[3].endswith("key: k payload: v")
    assert lines[4].startswith("| The rest of the batch cannot be read: ")


def test_what_is_not_visible_is_spelt_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(build_batch([Record(b"\x1b[2J", b"two\nlines\xff", (), TimestampMs(1))]))
    dump_log(log, print_data_log=True)
    assert said(capsys)[3].endswith(r"key: \x1b[2J payload: two\nlines\xff")
    dump_log(log, print_data_log=True, output=JSON)
    record = json.loads(said(capsys)[-1])
    assert (record["key"], record["value"]) == ("\x1b[2J", {"base64": "dHdvCmxpbmVz/w=="})


def test_json_has_a_line_for_each_fact(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "transactions-0"
    stem = folder / "00000000000000000005"
    files = [stem.with_suffix(suffix) for suffix in (".log", ".txnindex", ".snapshot")]
    dump_log(*files, deep_iteration=True, output=JSON)
    rows = [json.loads(line) for line in said(capsys)]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["fact"]] = counts.get(row["fact"], 0) + 1
    assert counts == {
        "file": 3,
        "batch": 27,
        "record": 31,
        "aborted_transaction": 3,
        "producer": 1,
    }
    assert rows[2]["control"] == {"type": "COMMIT", "coordinatorEpoch": 0}
    assert rows[-1]["transaction_first_offset"] == 0


def test_json_of_decoded_records(capsys: pytest.CaptureFixture[str]) -> None:
    log = ROOT / "__consumer_offsets-0" / "00000000000000000000.log"
    dump_log(log, offsets_decoder=True, output=JSON)
    rows = [json.loads(line) for line in said(capsys)]
    first = next(row for row in rows if row["fact"] == "record")
    assert first["key"] == {"type": "2", "data": {"group": "classic-group"}}
    assert first["value"]["version"] == "3"


def test_records_of_another_topic_are_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / f"{0:020d}.log"
    records = [Record(None, b"v"), Record(b"\0\x63", b"v"), Record(b"\0\1", b"v")]
    log.write_bytes(build_batch(records, base_offset=Offset(0)))
    dump_log(log, offsets_decoder=True)
    errors = [line.partition("key: ")[2] for line in said(capsys)[3:]]
    assert [error.partition(",")[0] for error in errors] == [
        f"Error at offset {offset}" for offset in range(3)
    ]
    dump_log(log, cluster_metadata_decoder=True)
    assert said(capsys)[3].partition("payload: ")[2].startswith("Error at 0, skipping. ")


def test_other_files_are_passed_by(capsys: pytest.CaptureFixture[str]) -> None:
    other = ROOT / "plain-0" / "leader-epoch-checkpoint"
    dump_log(other)
    assert said(capsys) == [f"Dumping {other}", f"Ignoring unknown file {other}"]


@pytest.mark.parametrize("suffix", [".txnindex", ".snapshot"])
def test_a_damaged_file_is_named(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"{0:020d}{suffix}"
    file.write_bytes(b"what")
    with pytest.raises(CommandError, match=file.name):
        dump_log(file)


def test_what_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300) / f"{0:020d}.log"
    with pytest.raises(CommandError, match=f"{file}: File name too long"):
        dump_log(file)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such file"):
        dump_log(tmp_path / f"{0:020d}.log")
    index = tmp_path / f"{0:020d}.index"
    index.write_bytes(b"")
    with pytest.raises(CommandError, match="is not beside it"):
        dump_log(index)


def test_wrong_use() -> None:
    with pytest.raises(WrongUseError, match="which files"):
        dump_log()
    with pytest.raises(WrongUseError, match="one decoder"):
        dump_log(Path("x"), offsets_decoder=True, cluster_metadata_decoder=True)
    with pytest.raises(WrongUseError, match="max-bytes"):
        dump_log(Path("x"), max_bytes=-1)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_stands_in_the_files_is_told_or_refused(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(seed)
    folder = tmp_path / random.choice(NAMES)
    shutil.copytree(ROOT / folder.name, folder)
    for path in sorted(folder.iterdir()):
        data = bytearray(path.read_bytes())
        for _ in range(random.choice((1, 20)) if data else 0):
            data[random.randrange(len(data))] = random.randrange(256)
        path.write_bytes(data)
        decoders = {
            decoder: folder.name.startswith(topic)
            for decoder, topic in (
                ("offsets_decoder", "__consumer"),
                ("transaction_log_decoder", "__transaction"),
                ("share_group_state_decoder", "__share"),
                ("cluster_metadata_decoder", "__cluster"),
            )
        }
        for output in (Output(), JSON):
            with suppress(CommandError):
                dump_log(path, print_data_log=True, output=output, **decoders)
    assert capsys.readouterr().out

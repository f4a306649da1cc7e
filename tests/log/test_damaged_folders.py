"""Random damage to any file of a data folder is told or mended: never a wrong record, a hang or a
traceback.

    python -m tests.log.test_damaged_folders 1 5000    # so many seeds; each that fails is printed
"""

from __future__ import annotations

import faulthandler
import sys
import traceback
from functools import cache
from random import Random  # noqa: TID251  # seeded: the same damage in each run.

import pytest

from kafkalite.log.verification import Verification, extent_of
from tests.log.damage import do_damage, restored
from tests.log.damaged_broker import Before, check_damaged, made
from tests.log.damaged_golden import check_damaged_golden

SEEDS = range(1, 41)
SEEN = ("made a folder", "appended")
_PATIENCE_S = 30
_SEEDS_A_LINE = 100


@cache
def before(*, clean: bool) -> Before:
    return made(clean=clean)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_damage_is_told_or_mended(seed: int, clean: bool) -> None:
    check_damaged(before(clean=clean), seed)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_folder_of_kafka_opens_or_is_refused(seed: int, clean: bool) -> None:
    check_damaged_golden(seed, clean=clean)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_damaged_can_be_verified(seed: int) -> None:
    """Without an error of the disk ending it."""
    data = before(clean=True).data
    files = restored(data)
    done = do_damage(files, data, Random(seed))
    found = list(Verification(files).log_folder(extent_of(files)))
    if all(each.kind in SEEN for each in done) and not done[0].path.endswith("shutdown"):
        assert found


def main(first: int, last: int) -> int:
    failures = 0
    for seed in range(first, last + 1):
        for clean in (True, False):
            faulthandler.dump_traceback_later(_PATIENCE_S, exit=True)
            try:
                check_damaged(before(clean=clean), seed)
                check_damaged_golden(seed, clean=clean)
            except Exception as error:  # noqa: BLE001  # Each is told, and the next seed has its turn.
                failures += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                notes = " ".join(note for note in error.__notes__ if "trace ends" not in note)
                told = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
                sys.stdout.write(f"{'stopped' if clean else 'killed'} {notes}\n    {told}\n")
        if seed % _SEEDS_A_LINE == 0:
            sys.stdout.write(f"seeds up to {seed}, {failures} failures\n")
            sys.stdout.flush()
    faulthandler.cancel_dump_traceback_later()
    return failures


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) > 0)

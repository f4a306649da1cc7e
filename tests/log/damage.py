"""What may happen to the files of a data folder, by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random  # noqa: TID251  # seeded: the same damage in each run.

from kafkalite.log.files_memory import MemoryFiles
from tests.log.trees import Tree

NOBODYS = (".lock", ".gitignore")
"""Nobody reads these."""


_OF_A_FILE = (
    *("flipped", "flipped", "cut", "cut", "appended", "zeroed", "repeated", "emptied"),
    *("overwritten", "swapped", "removed", "made a folder"),
)


@dataclass(frozen=True, slots=True)
class Damage:
    """What was done to one path."""

    kind: str
    path: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


def restored(tree: Tree) -> MemoryFiles:
    """A disk that has all of it."""
    files = MemoryFiles()
    for path, data in tree.items():
        if data is None:
            files.make_folder(path)
        else:
            files.replace(path, data)
    return files


def do_damage(files: MemoryFiles, tree: Tree, random: Random) -> list[Damage]:
    """To one file or two, or a folder, now and then."""
    done: list[Damage] = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        paths = [path for path in tree if not path.endswith(NOBODYS) and files.exists(path)]
        folders = [path for path in paths if files.is_folder(path)]
        if folders and random.random() < 0.04:
            done.append(_damage_folder(files, random.choice(folders), random))
        elif regular := sorted(set(paths) - set(folders)):
            done += _damage_file(files, random.choice(regular), regular, random)
    return done


def _damage_folder(files: MemoryFiles, path: str, random: Random) -> Damage:
    kind = random.choice(("removed", "emptied", "made a file"))
    files.remove_folder(path)
    if kind == "emptied":
        files.make_folder(path)
    elif kind == "made a file":
        files.replace(path, random.randbytes(10))
    return Damage(kind, path)


def _damage_file(files: MemoryFiles, path: str, others: list[str], random: Random) -> list[Damage]:
    file = files.open_read(path)
    data = bytearray(file.read(0, file.size))
    kind = random.choice(_OF_A_FILE)
    at = random.randrange(len(data) + 1)
    match kind:
        case "flipped":
            for _ in range(random.choice((1, 1, 4))):
                if data:
                    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        case "cut":
            del data[at:]
        case "appended":
            data += random.randbytes(random.choice((1, 8, 12, 200)))
        case "zeroed":
            size = min(random.choice((1, 8, 100, 1 << 20)), len(data) - at)
            data[at : at + size] = bytes(size)
        case "repeated":
            data += data[at:]
        case "emptied":
            data.clear()
        case "overwritten":
            size = min(random.choice((1, 8, 100)), len(data) - at)
            data[at : at + size] = random.randbytes(size)
        case "removed":
            files.remove(path)
            return [Damage(kind, path)]
        case "made a folder":
            files.remove(path)
            files.make_folder(path)
            return [Damage(kind, path)]
        case "swapped":
            other = random.choice(others)
            if not files.exists(other) or files.is_folder(other):
                return []
            held = files.open_read(other)
            files.replace(path, held.read(0, held.size))
            files.replace(other, bytes(data))
            return [Damage(kind, path), Damage(kind, other)]
    files.replace(path, bytes(data))
    return [Damage(kind, path)]

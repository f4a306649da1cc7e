"""Settings whose values stand somewhere else: in files that `..._FILE` variables name, as the image
bitnami/kafka takes them, and where `${provider:path:key}` points to by `config.providers`.

Of Kafka's providers those that need nothing but this machine are here: FileConfigProvider,
DirectoryConfigProvider and EnvVarConfigProvider, without their `param.` settings.

Source: KIP-297, KIP-421 and `ConfigTransformer`; what bitnami's scripts do, not their text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kafkalite.cli.errors import WrongUseError
from kafkalite.cli.properties_files import read_properties_file
from kafkalite.config.environment import CLUSTER_ID_VARIABLES, Given, setting_of
from kafkalite.config.known import Kind, kind_of
from kafkalite.ports.small_files import read_small_file

_PROVIDERS = "config.providers"
_FILE = "_FILE"
_REFERENCE = re.compile(r"\$\{(?P<provider>[^}:]*):(?:(?P<path>[^}]*):)?(?P<key>[^}:]*)\}")


def with_files_read(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The environment with what stands in the files of `NAME_FILE` variables, where NAME is a
    broker's setting; and these variables, by NAME."""
    found = dict(environment)
    variables = {}
    for variable, path in environment.items():
        name = variable.removesuffix(_FILE)
        if name != variable and path and _is_setting(name):
            del found[variable]
            found[name] = content(path, f"{variable}={path}").rstrip("\r\n")
            variables[name] = variable
    return found, variables


def _is_setting(variable: str) -> bool:
    key = setting_of(variable)
    return variable in CLUSTER_ID_VARIABLES or (
        key is not None and kind_of(key) in (Kind.ACTS, Kind.WITHOUT_EFFECT)
    )


def resolve_references(given: dict[str, Given], environment: Mapping[str, str]) -> list[str]:
    """Put what they point to in the place of references. `config.providers` has then done its work,
    and is taken out. What there is to tell, as in `Settings.notes`: of what is not found, where
    Kafka leaves the reference as it is, in silence."""
    if _PROVIDERS not in given:
        return []
    names = [name.strip() for name in given.pop(_PROVIDERS).value.split(",")]
    kinds = {}
    for name in names:
        described = given.pop(f"{_PROVIDERS}.{name}.class", None)
        kinds[name] = described.value.strip().rpartition(".")[2] if described else ""
    for key in [key for key in given if key.startswith(f"{_PROVIDERS}.")]:
        del given[key]
    notes: list[str] = []
    for key, (value, origin) in given.items():

        def found(reference: re.Match[str], where: str = f"{key} ({origin})") -> str:
            if reference["provider"] not in kinds:
                return reference[0]
            text = _value(kinds[reference["provider"]], reference, where, environment)
            if text is None:
                notes.append(f"warning: {where}: there is nothing at {reference[0]}")
            return reference[0] if text is None else text

        given[key] = Given(_REFERENCE.sub(found, value), origin)
    return notes


def _value(
    kind: str, reference: re.Match[str], where: str, environment: Mapping[str, str]
) -> str | None:
    path, key = reference["path"] or "", reference["key"]
    match kind:
        case "FileConfigProvider":
            known = read_properties_file(path, f"{where}: {reference[0]}:").get(key)
            return None if known is None else known.value
        case "DirectoryConfigProvider":
            file = os.path.join(path, key)
            return content(file, f"{where}: {reference[0]}") if os.path.isfile(file) else None
        case "EnvVarConfigProvider":
            return environment.get(key)
        case _:
            raise WrongUseError(
                f"{where}: {reference[0]}: this provider is not here; those of Kafka that read "
                "files, folders and the environment are"
            )


def content(path: str, where: str) -> str:
    """Of a text file. `WrongUseError` that begins with `where`."""
    try:
        return read_small_file(path).decode()
    except UnicodeDecodeError as error:
        raise WrongUseError(f"{where}: it is not UTF-8") from error
    except ValueError as error:
        raise WrongUseError(f"{where}: {error}") from error

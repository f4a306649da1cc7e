"""What a setting takes, in words: for the documentation, and for who wrote something else."""

from __future__ import annotations

from kafkalite.config.keys import ConfigKey, ConfigType

_LARGEST = {
    ConfigType.SHORT: 2**15 - 1,
    ConfigType.INT: 2**31 - 1,
    ConfigType.LONG: 2**63 - 1,
}


def allowed(key: ConfigKey) -> str:
    """As the end of "allowed is ..."."""
    match key.type:
        case ConfigType.BOOLEAN:
            return "true or false"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            largest = _LARGEST[key.type]
            return f"a whole number {_range(key, -largest - 1, largest)}"
        case ConfigType.DOUBLE:
            return f"a number {_range(key)}".strip()
        case ConfigType.LIST:
            return _list(key)
        case ConfigType.CLASS:
            return "the name of a Java class"
        case _:
            return _text(key)


def _range(key: ConfigKey, smallest: int | None = None, largest: int | None = None) -> str:
    first = smallest if key.minimum is None else key.minimum
    last = largest if key.maximum is None else key.maximum
    also = "" if key.also is None else f", or {key.also}"
    if last is None:
        return "" if first is None else f"of at least {first}{also}"
    return f"from {first} to {last}{also}"


def _list(key: ConfigKey) -> str:
    if key.one_of:
        items = f"a list of {_choice(key.one_of, 'and')}"
    elif key.form:
        items = f"a list of {key.form}"
    else:
        items = "a list"
    return f"{items}, separated by commas" + ("" if key.may_be_empty else ", not empty")


def _text(key: ConfigKey) -> str:
    if key.one_of:
        case = "" if key.is_case_sensitive else ", in upper or lower case"
        return f"{_choice(key.one_of, 'or')}{case}"
    if key.form:
        return key.form
    return "any text" if key.may_be_empty else "any text but the empty one"


def _choice(items: tuple[str, ...], word: str) -> str:
    *most, last = items
    return f"{', '.join(most)} {word} {last}" if most else last

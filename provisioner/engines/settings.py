"""Typed settings of an engine: a closed list with limits, and what each is called in the engine's own file.

Titles, descriptions and limits are data in backend/catalog/data; a test per engine checks that both lists agree. Here
is what the catalogue must not know: the engine's own names and units.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.engines.base import InvalidOption, SettingDifference


@dataclass(frozen=True)
class Whole:
    """A whole number with these limits, written with this unit; without one it is written as a number."""

    yaml: str
    low: int
    high: int
    unit: str = ""


@dataclass(frozen=True)
class Truth:
    yaml: str


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    yaml: str
    words: tuple[str, ...]


Setting = Whole | Truth | Choice

# Factors to the smallest unit of a kind, as an engine writes values back.
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_RATES = {f"{unit}/s": factor for unit, factor in _BYTES.items()}


def check(options: Mapping[str, Any], settings: Mapping[str, Setting], *, known: Iterable[str] = ()) -> None:
    """InvalidOption when one is unknown, of another type, or out of its limits. `known`: names checked elsewhere."""
    for name, value in options.items():
        if name not in known:
            _check(name, value, settings)


def _check(name: str, value: Any, settings: Mapping[str, Setting]) -> None:
    match settings.get(name):
        case None:
            raise InvalidOption(name, f"unknown; there are {', '.join(sorted(settings))}")
        case Truth():
            if not isinstance(value, bool):
                raise InvalidOption(name, "must be true or false")
        case Choice(words=words):
            if value not in words:
                raise InvalidOption(name, f"must be one of {', '.join(words)}")
        case Whole(low=low, high=high):
            # A boolean is a whole number to Python, but not to the one who ordered.
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise InvalidOption(name, f"must be a whole number from {low} to {high}")


def in_file(options: Mapping[str, Any], settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Those of the options that are settings, as they stand in the engine's file."""
    return {setting.yaml: _written(setting, options[name]) for name, setting in settings.items() if name in options}


def differences(
    options: Mapping[str, Any], settings: Mapping[str, Setting], in_effect: Mapping[str, str]
) -> list[SettingDifference]:
    """Settings whose value in a running engine is not the wanted one, with both as the engine writes them.

    `in_effect`: what the engine tells by its own names; of what it does not tell nothing is said.
    """
    found = []
    for name, setting in settings.items():
        if name not in options or setting.yaml not in in_effect:
            continue
        wanted, is_now = _written(setting, options[name]), in_effect[setting.yaml]
        if _measure(_shown(wanted)) != _measure(is_now):
            found.append(SettingDifference(setting=name, wanted=_shown(wanted), found=is_now))
    return found


def _written(setting: Setting, value: Any) -> Any:
    return f"{value}{setting.unit}" if isinstance(setting, Whole) and setting.unit else value


def _measure(text: str) -> float | str:
    """A value as one number whatever its unit, so that 1s is 1000ms; words as they are, in lower case."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/µ")
    unit = text[len(digits) :]
    try:
        number = float(digits)
    except ValueError:
        return text.lower()
    for units in (_MILLISECONDS, _BYTES, _RATES):
        if unit in units:
            return number * units[unit]
    return number if not unit else text.lower()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

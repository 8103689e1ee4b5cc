"""The part of the API's filter language that we use: `field = value`, `field != value`, all of them in a row."""

import re
from typing import Any

from provisioner.providers.gcp_emulator.errors import invalid

_CONDITION = re.compile(r'\s*(?:AND\s+)?\(?\s*([A-Za-z][\w.-]*)\s*(!=|=)\s*("[^"]*"|[^\s()"]+)\s*\)?\s*')

Condition = tuple[str, str, str]
"""Field, operator, value."""


def conditions(wanted: str) -> list[Condition]:
    """ApiError 400 for what is not understood."""
    found: list[Condition] = []
    position = 0
    while position < len(wanted):
        condition = _CONDITION.match(wanted, position)
        if condition is None:
            raise invalid(f"Invalid value for field 'filter': '{wanted}'. Invalid list filter expression.")
        position = condition.end()
        field, operator, value = condition.groups()
        found.append((field, operator, value.strip('"')))
    return found


def matches(wanted: list[Condition], resource: Any) -> bool:
    """Whether a resource (a message of the client's) fulfils every condition."""
    return all((_value(resource, field) == value) == (operator == "=") for field, operator, value in wanted)


def _value(resource: Any, field: str) -> str | None:
    parent, _, key = field.partition(".")
    value = getattr(resource, re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", parent), None)
    if key:
        value = value.get(key) if value is not None else None
    return None if value is None else str(value)

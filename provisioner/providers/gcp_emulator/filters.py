"""The part of the API's filter language that we use: `field = value`, `field != value`, all of them in a row."""

import re
from collections.abc import Mapping
from typing import Any

from provisioner.providers.gcp_emulator.errors import invalid

_CONDITION = re.compile(r'\s*(?:AND\s+)?\(?\s*([A-Za-z][\w.-]*)\s*(!=|=)\s*("[^"]*"|[^\s()"]+)\s*\)?\s*')


def matches(wanted: str, document: Mapping[str, Any]) -> bool:
    """Whether the JSON of a resource fulfils every condition. ApiError 400 for what is not understood."""
    position, fulfilled = 0, True
    while position < len(wanted):
        condition = _CONDITION.match(wanted, position)
        if condition is None:
            raise invalid(f"Invalid value for field 'filter': '{wanted}'. Invalid list filter expression.")
        position = condition.end()
        field, operator, value = condition.groups()
        fulfilled &= (_value(document, field) == value.strip('"')) == (operator == "=")
    return fulfilled


def _value(document: Mapping[str, Any], field: str) -> str | None:
    parent, _, key = field.partition(".")
    value = document.get(parent)
    if key:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else str(value)

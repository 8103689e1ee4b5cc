"""The error codes that the API answers, as infra/contract/error_codes.py finds them in the sources."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_LISTED = Path(__file__).with_name("error_codes.json")


@cache
def known() -> dict[str, list[int]]:
    """Each code with its statuses."""
    codes: dict[str, list[int]] = json.loads(_LISTED.read_text())
    return codes


def describe(document: dict[str, Any]) -> None:
    """Lists the codes at `code` of the problem body. Tomorrow there can be more."""
    code = document["components"]["schemas"]["ErrorDetail"]["properties"]["code"]
    code["x-extensible-enum"] = sorted(known())

"""The error codes that the API answers, as infra/contract/error_codes.py finds them in the sources."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_LISTED = Path(__file__).with_name("error_codes.json")


@cache
def known() -> dict[str, dict[str, Any]]:
    """Each code with its `statuses`, what it `says`, and `hint`: what to do. Of both the sentence may be empty."""
    codes: dict[str, dict[str, Any]] = json.loads(_LISTED.read_text())
    return codes


def describe(document: dict[str, Any]) -> None:
    """Lists the codes at `code` of the problem body, and what they mean. Tomorrow there can be more."""
    code = document["components"]["schemas"]["ErrorDetail"]["properties"]["code"]
    code["x-extensible-enum"] = sorted(known())
    code["x-error-codes"] = {name: known()[name] for name in sorted(known())}

"""The error codes that the API answers, as infra/contract finds them in the sources: all of them, and by operation."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def known() -> dict[str, list[dict[str, Any]]]:
    """The cases of each code: `status`, what it `says`, and `hint`: what to do. Both sentences may be empty."""
    codes: dict[str, list[dict[str, Any]]] = json.loads((_FOLDER / "error_codes.json").read_text())
    return codes


@cache
def reach() -> dict[str, Any]:
    """`all`: codes by status that every operation can answer; `operations`: further ones, by operation id."""
    found: dict[str, Any] = json.loads((_FOLDER / "error_reach.json").read_text())
    return found


def answerable(operation_id: str, status: int) -> set[str]:
    """What an operation can answer with a status."""
    places = (reach()["all"], reach()["operations"].get(operation_id, {}))
    return {code for place in places for code in place.get(str(status), [])}


def describe(document: dict[str, Any]) -> None:
    """Lists the codes at `code` of the problem body with what they mean, and those of each operation. Tomorrow there
    can be more.
    """
    code = document["components"]["schemas"]["ErrorDetail"]["properties"]["code"]
    code["x-extensible-enum"] = sorted(known())
    code["x-error-codes"] = {name: known()[name] for name in sorted(known())}
    document["x-error-codes"] = reach()["all"]
    for methods in document["paths"].values():
        for operation in methods.values():
            if own := reach()["operations"].get(operation.get("operationId")):
                operation["x-error-codes"] = own

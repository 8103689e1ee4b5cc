"""`dry_run=true` on any write: it is done in a transaction, and all of it is taken back. docs/decisions/0058.

That is enough because the API only writes rows: messages to workers go out when a transaction is committed, and this
one never is. What is kept elsewhere asks `rehearsing()` before it is sent there.
"""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from backend.core.errors import Invalid
from backend.core.rehearsing import a_rehearsal

PARAMETER = "dry_run"
HEADER = "Ringmaster-Dry-Run"
IMPOSSIBLE = {
    "accept_invitation": "It takes a password, and wrong ones are counted.",
}
"""By operation id: writes that cannot be rehearsed, and why."""


def wanted(request: HttpRequest) -> bool:
    """Raises Invalid for a word that is neither true nor false."""
    word = request.GET.get(PARAMETER, "false")
    if word not in ("true", "false"):
        raise Invalid("invalid_field", f"{PARAMETER} is true or false.", hint="Correct it.", field=PARAMETER)
    return word == "true"


def refuse_impossible(request: HttpRequest, name: str) -> None:
    """Raises Invalid for a dry run of what has none. `name`: the operation id."""
    if name in IMPOSSIBLE and wanted(request):
        raise Invalid(
            "dry_run_not_possible", f"{name} has no dry run. {IMPOSSIBLE[name]}", hint=f"Leave {PARAMETER} out."
        )


def rehearse(run: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """204 without a body when it would have succeeded, else its refusal."""
    with a_rehearsal(), transaction.atomic():
        response = run()
        transaction.set_rollback(True)
    if response.status_code >= 400:
        answer: HttpResponseBase = response
    else:
        # Not the answer itself: it may name what never was, or a secret that nobody is written down to have seen.
        answer = HttpResponse(status=204)
    answer[HEADER] = f"would answer {response.status_code}"
    return answer


def describe(operation: dict[str, Any]) -> None:
    """Adds the parameter and its answer to a write of the OpenAPI document."""
    if operation["operationId"] in IMPOSSIBLE:
        return
    operation["parameters"] = [*operation["parameters"], {"$ref": "#/components/parameters/DryRun"}]
    operation["responses"].setdefault("204", {"description": f"With {PARAMETER}: it would succeed. Nothing was done"})


DESCRIBED = {
    "name": PARAMETER,
    "in": "query",
    "required": False,
    "description": (
        "true: everything is checked as if it were done, and nothing is. Answers 204 where it would succeed, with the "
        f"header {HEADER} saying what it would answer, and else the same refusal."
    ),
    "schema": {"type": "boolean", "default": False},
}

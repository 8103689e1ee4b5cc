"""The HTTP API: its routers, and what holds for all of them."""

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from pydantic_core import from_json, to_json

from backend.access.api import router as access
from backend.accounts.api import router as accounts
from backend.accounts.authentication import AUTHENTICATION, find_identity
from backend.accounts.group_role_api import router as group_roles
from backend.accounts.role_api import router as organisation_roles
from backend.accounts.service_account_api import router as service_accounts
from backend.accounts.session_api import router as sessions
from backend.advisor.api import router as advisor
from backend.alerts.api import router as alerts
from backend.audit.api import router as audit
from backend.backups.api import router as backups
from backend.backups.drill_api import router as drills
from backend.budgets.api import router as budgets
from backend.changes.api import router as changes
from backend.cloud_accounts.api import router as cloud_accounts
from backend.clusters.api import router as clusters
from backend.config import conditions, rate_limits, rehearsal, sparse
from backend.config.openapi import DESCRIPTION, complete
from backend.config.reach import within_reach
from backend.connections.api import router as connections
from backend.console.api import router as console
from backend.core import idempotency
from backend.core.errors import Invalid, error_response
from backend.costs.api import router as costs
from backend.deletions.api import router as deletions
from backend.diagnostics.api import router as diagnostics
from backend.findings.api import router as findings
from backend.images.api import router as images
from backend.imports.api import router as imports
from backend.metrics.api import router as metrics
from backend.operations.api import router as operations
from backend.prices.api import router as prices
from backend.repairs.api import router as repairs
from backend.sizing.api import router as sizing
from backend.test_drives.api import router as test_drives
from backend.tuning.api import router as tuning

Run = Callable[..., HttpResponseBase]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class StrictParser(Parser):
    """JSON as the standard has it: no NaN, and nesting without end is malformed rather than a crash."""

    def parse_body(self, request: HttpRequest) -> Any:
        return from_json(request.body, allow_inf_nan=False)


class OneFormatRenderer(BaseRenderer):
    """The same JSON as core.pagination.prepared makes, so that a thing looks the same in a list and alone."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data)


class RingmasterAPI(NinjaAPI):
    def get_openapi_schema(self, **kwargs: Any) -> Any:
        return complete(super().get_openapi_schema(**kwargs))


def answered_once(run: Run) -> Run:
    """Honours ``Idempotency-Key``, ``dry_run`` and ``If-Match`` on every write, around the whole route: checks, change
    and answer.
    """

    # Below all decorators is the method of ninja's Operation.
    operation = unwrap(run).__self__
    name: str = operation.operation_id

    @wraps(run)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if request.method in SAFE_METHODS:
            return run(request, **kwargs)
        try:
            rehearsal.refuse_impossible(request, name)
            who = find_identity(request)
            if who is None:
                return run(request, **kwargs)

            def write() -> HttpResponseBase:
                return conditions.hold(
                    request,
                    operation,
                    organisation_id=who.organisation_id,
                    run=lambda: run(request, **kwargs),
                    values=kwargs,
                )

            if rehearsal.wanted(request):
                return rehearsal.rehearse(write)
            key = request.headers.get(idempotency.HEADER)
            if key is None:
                return write()
            return idempotency.once(
                request, organisation_id=who.organisation_id, user_id=who.user_id, key=key, run=write
            )
        except Exception as problem:  # the edge: ninja's own handlers are inside `run`
            return error_response(request, problem)

    return wrapper


def with_tags(run: Run) -> Run:
    """Gives GETs of single things their ETag, and honours ``If-None-Match``."""
    operation = unwrap(run).__self__
    conditions.remember(operation)
    if not conditions.is_single(operation):
        return run

    @wraps(run)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        answer = run(request, **kwargs)
        return conditions.answer_with_tag(request, answer) if request.method == "GET" else answer

    return wrapper


def with_chosen_fields(run: Run) -> Run:
    """Honours ``fields`` on every GET. Outside of `with_tags`: a tag is of the whole thing."""
    operation = unwrap(run).__self__

    @wraps(run)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        answer = run(request, **kwargs)
        if request.method != "GET" or sparse.PARAMETER not in request.GET:
            return answer
        try:
            return sparse.select(request, operation, answer)
        except Invalid as problem:
            return error_response(request, problem)

    return wrapper


def within_limits(run: Run) -> Run:
    """Counts every request of somebody who is known, and refuses those that come too fast before anything is done.

    Outside of `answered_once`: what is refused here is no answer to be kept.
    """
    operation = unwrap(run).__self__

    @wraps(run)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if not operation.auth_callbacks or (who := find_identity(request)) is None:
            return run(request, **kwargs)
        taken = rate_limits.take(who)
        answer = run(request, **kwargs) if taken.wait is None else error_response(request, taken.refusal())
        taken.describe(answer)
        return answer

    return wrapper


api = RingmasterAPI(
    title="Ringmaster",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    auth=AUTHENTICATION,
    parser=StrictParser(),
    renderer=OneFormatRenderer(),
    docs_url=None,
)
for problem_class in (Exception, Http404, HttpError, ValidationError):  # ninja has handlers of its own for these
    # Its type allows classes of exceptions too, but instances are all it ever hands over.
    api.add_exception_handler(problem_class, error_response)  # type: ignore[arg-type]
api.add_decorator(within_reach, mode="operation")
api.add_decorator(answered_once, mode="view")
api.add_decorator(with_tags, mode="view")
api.add_decorator(with_chosen_fields, mode="view")
api.add_decorator(within_limits, mode="view")
api.add_router("", accounts)
api.add_router("", organisation_roles)
api.add_router("", group_roles)
api.add_router("", service_accounts)
api.add_router("", sessions)
api.add_router("", audit)
api.add_router("", operations)
api.add_router("", cloud_accounts)
api.add_router("", images)
api.add_router("", prices)
api.add_router("", sizing)
api.add_router("", costs)
api.add_router("", budgets)
api.add_router("", clusters)
api.add_router("", access)
api.add_router("", test_drives)
api.add_router("", changes)
api.add_router("", findings)
api.add_router("", diagnostics)
api.add_router("", console)
api.add_router("", tuning)
api.add_router("", repairs)
api.add_router("", connections)
api.add_router("", backups)
api.add_router("", imports)
api.add_router("", drills)
api.add_router("", deletions)
api.add_router("", metrics)
api.add_router("", alerts)
api.add_router("", advisor)

"""What every request passes first and every answer last: its id, its line in the log, its security headers."""

import re
from collections.abc import Callable
from time import perf_counter

import structlog
from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from opentelemetry.trace import Span, format_trace_id
from ulid import ULID

from backend.config import tracing
from backend.config.metrics import count_request
from backend.core.errors import REQUEST_ID, DomainError, error_response

GetResponse = Callable[[HttpRequest], HttpResponseBase]

log = structlog.get_logger("ringmaster.request")

# Asked by probes and by Prometheus, which know addresses rather than names.
_ANY_HOST = frozenset({"/healthz", "/readyz", "/metrics", "/metrics/targets"})
_SANE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
_SECRET_IN_PATH = re.compile(r"(/invitations/by-secret/).+")

# Cloudscape sets style attributes; everything else comes from our own files.
_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Sessions(SessionMiddleware):
    """Takes a session's cookie back from who signs out, and from nobody else.

    Django's also does from whoever comes with a key that is not known. A console asks several things at once: when one
    of them gives the session a new key, the answer to another one must not take that away.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.session.is_empty() and not request.session.modified:
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        return super().process_response(request, response)


class RequestEdge:
    """The outermost middleware.

    Synchronous on purpose: with every middleware and view synchronous, a request needs one thread and no hops.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._headers = dict(_SECURITY_HEADERS)
        if settings.ENV.is_https:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = perf_counter()
        request_id = _request_id(request)
        request.META[REQUEST_ID] = request_id
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            if tracing.is_on() and request.path.startswith("/api/"):
                with tracing.of_request(request, request_id) as span:
                    response = self._serve(request, request_id, started)
                    response.headers["X-Trace-Id"] = format_trace_id(span.get_span_context().trace_id)
                    _trace(span, request, response)
            else:
                response = self._serve(request, request_id, started)
        return response

    def _serve(self, request: HttpRequest, request_id: str, started: float) -> HttpResponseBase:
        """The answer with its headers, and its line in the log."""
        response = self._answer(request)
        for name, value in self._headers.items():
            response.headers.setdefault(name, value)
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Request-Id"] = request_id
        if isinstance(response, HttpResponse) and "Content-Length" not in response.headers:
            response.headers["Content-Length"] = str(len(response.content))
        _write_down(request, response, perf_counter() - started)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        if "\x00" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return error_response(
                request,
                DomainError("nul_character", "The address holds a NUL character.", hint="Leave it out."),
            )
        if request.path not in _ANY_HOST:
            try:
                request.get_host()
            except DisallowedHost as problem:
                return error_response(request, problem)
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            return _method_not_allowed(request, response)
        return response

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse:
        """Django's hook for what a view raised and nobody caught."""
        return error_response(request, problem)


def _trace(span: Span, request: HttpRequest, response: HttpResponseBase) -> None:
    route = request.resolver_match.route if request.resolver_match else ""
    tracing.answered(
        span,
        method=request.method or "",
        route=_PLACE.sub(r"{\1}", f"/{route}") if route else "",
        status=response.status_code,
        organisation_id=getattr(getattr(request, "auth", None), "organisation_id", None),
    )


def _request_id(request: HttpRequest) -> str:
    """The caller's own id if it is a sane one, so that their logs and ours can be joined."""
    sent = request.META.get("HTTP_X_REQUEST_ID", "")
    return sent if _SANE_ID.fullmatch(sent) else f"req_{str(ULID()).lower()}"


def _method_not_allowed(request: HttpRequest, refused: HttpResponseNotAllowed) -> HttpResponse:
    response = error_response(
        request,
        DomainError(
            "method_not_allowed",
            f"{request.method} is not possible at this address.",
            status=405,
            hint=f"Use {refused.headers['Allow']}.",
        ),
    )
    response.headers["Allow"] = refused.headers["Allow"]
    return response


def _write_down(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    who = getattr(request, "auth", None)
    route = request.resolver_match.route if request.resolver_match else ""
    count_request(request.method or "", route, response.status_code, seconds)
    log.info(
        "request",
        method=request.method,
        path=_SECRET_IN_PATH.sub(r"\1***", request.path),
        status=response.status_code,
        milliseconds=round(seconds * 1000, 1),
        organisation=getattr(who, "organisation_id", None),
        user=getattr(who, "user_id", None),
        token=getattr(who, "token_id", None),
    )

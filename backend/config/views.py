"""Everything that is not the API: health, sign-in's failures, and the console's files."""

import json
import mimetypes
import sys
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from backend.core.errors import DomainError, csrf_error, error_response


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up. Asks nothing else, so that a database that is away does not get API processes killed."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers and its tables are the ones this code wants."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return error_response(
            request,
            DomainError(
                "migrations_missing", "The database is not migrated.", status=503, hint="Run manage.py migrate."
            ),
        )
    return JsonResponse({"status": "ok"})


@require_safe
def console(request: HttpRequest, path: str = "") -> HttpResponse:
    """A file of the built console, or its index page: the console's router knows its own addresses."""
    folder: Path | None = settings.ENV.ringmaster_console_dir
    if folder is None:
        raise Http404
    file = _files(folder).get(path)
    if file is None:
        # A missing script must not be answered with a page; a console address has no dot in its last part.
        if path.startswith("assets/") or "." in path.rpartition("/")[2]:
            raise Http404
        file, path = folder / "index.html", "index.html"
        if not file.is_file():
            raise Http404
    content_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    response = HttpResponse(file.read_bytes(), content_type=content_type)
    response["Last-Modified"] = http_date(file.stat().st_mtime)
    # The names of built assets hold a hash of their content; everything else must be asked for again.
    response["Cache-Control"] = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
    return response


@require_safe
def description(request: HttpRequest) -> HttpResponse:
    """The API's description, for everybody: the committed file, since making it takes a second."""
    return HttpResponse(_description(), content_type="application/json")


@lru_cache(maxsize=1)
def _description() -> bytes:
    return json.dumps(json.loads((settings.BASE_DIR / "openapi.json").read_text()), separators=(",", ":")).encode()


@lru_cache(maxsize=1)
def _listed(folder: Path, stamp: float) -> dict[str, Path]:
    return {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}


def _files(folder: Path) -> dict[str, Path]:
    """Only what is listed is served, so no address can climb out. Listed again when the console was built again."""
    index = folder / "index.html"
    return _listed(folder, index.stat().st_mtime) if index.is_file() else {}


def unknown_url(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, Http404())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this while it handles the exception."""
    problem = sys.exc_info()[1]
    return error_response(request, problem if isinstance(problem, Exception) else RuntimeError("no exception"))


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return error_response(request, csrf_error())

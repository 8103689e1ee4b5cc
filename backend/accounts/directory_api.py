"""SCIM 2.0 (RFC 7644) for the directories of identity providers: ``/scim/v2/...``.

Outside of the OpenAPI file, whose rules (names, problem bodies, cursors) the protocol contradicts: its contract is what
it tells of itself at ``/ServiceProviderConfig``, ``/ResourceTypes`` and ``/Schemas``.
"""

from __future__ import annotations  # some of the generic classes refuse Any when the program runs

import json
from dataclasses import dataclass
from typing import Any, cast

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from pydantic import ValidationError
from scim2_models import Context, Error, ListResponse, PatchOp, Resource, SearchRequest
from scim2_models.exceptions import (
    InvalidSyntaxException,
    NotFoundException,
    SCIMException,
    TooManyException,
    UnauthorizedException,
)
from scim2_models.path import CompareOperator, Comparison

from backend.accounts import directory, directory_actions
from backend.accounts.authentication import source_address
from backend.accounts.directory import PAGE_LIMIT, Group, User
from backend.accounts.models import DirectoryGroup, DirectoryUser, IdentityProvider
from backend.core.errors import request_id_of

CONTENT_TYPE = "application/scim+json"
READ_LIMIT = 5_000
"""Entries that a filter is held against one by one; those for one name, id or address are found by an index."""
_INDEXED = {
    "Users": {"username": "user_name__iexact", "externalid": "external_id", "id": "id"},
    "Groups": {"displayname": "name__iexact", "externalid": "external_id", "id": "id"},
}
_MODELS: dict[str, type[Resource[Any]]] = {"Users": User, "Groups": Group}
_SEARCHES: dict[str, type[SearchRequest[Any]]] = {
    "Users": SearchRequest[User],
    "Groups": SearchRequest[Group],
    "": SearchRequest[User | Group],
}
_PATCHES: dict[str, type[PatchOp[Any]]] = {"Users": PatchOp[User], "Groups": PatchOp[Group]}


@dataclass(frozen=True)
class _Answer:
    status: int
    content: dict[str, Any] | None = None


class _NotAllowed(SCIMException):
    status = 405
    _default_detail = "This address has no such method."


@csrf_exempt
def scim(request: HttpRequest, address: str) -> HttpResponse:
    """Whatever goes wrong is told as the protocol says."""
    try:
        with directory.POLICY:
            answer = _answer(request, _provider(request), address.strip("/").split("/"))
    except SCIMException as problem:
        answer = _refused(problem.to_error())
    except ValidationError as problem:
        answer = _refused(Error.from_validation_errors(problem)[0])
    if answer.content is None:
        response = HttpResponse(status=answer.status)
    else:
        response = HttpResponse(json.dumps(answer.content), status=answer.status, content_type=CONTENT_TYPE)
    if answer.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    location = ((answer.content or {}).get("meta") or {}).get("location")
    if answer.status == 201 and location:
        response["Location"] = location
    return response


def _provider(request: HttpRequest) -> IdentityProvider:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    provider = directory_actions.provider_of_token(token.strip()) if kind.lower() == "bearer" else None
    if provider is None:
        raise UnauthorizedException(detail="This is no token of a directory.")
    return provider


def _answer(request: HttpRequest, provider: IdentityProvider, words: list[str]) -> _Answer:
    match words:
        case ["ServiceProviderConfig"]:
            _only_read(request)
            return _told(directory.config())
        case ["ResourceTypes" | "Schemas" as kind, *rest] if len(rest) < 2:
            _only_read(request)
            return _discovery(kind, rest)
        case ["Users" | "Groups" as kind]:
            if request.method == "POST":
                return _put(request, provider, kind, None)
            _only_read(request)
            return _list(provider, kind, _search(request, kind))
        case [".search"] if request.method == "POST":
            return _list(provider, "", _SEARCHES[""].model_validate(_body(request), scim_ctx=Context.SEARCH_REQUEST))
        case ["Users" | "Groups" as kind, ".search"] if request.method == "POST":
            asked = _SEARCHES[kind].model_validate(_body(request), scim_ctx=Context.SEARCH_REQUEST)
            return _list(provider, kind, asked)
        case ["Users" | "Groups" as kind, entry_id]:
            return _one(request, provider, kind, entry_id)
    raise NotFoundException(detail="There is nothing at this address.")


def _only_read(request: HttpRequest) -> None:
    if request.method not in ("GET", "HEAD"):
        raise _NotAllowed()


def _discovery(kind: str, rest: list[str]) -> _Answer:
    found: list[Any] = directory.schemas() if kind == "Schemas" else directory.resource_types()
    if rest:
        for each in found:
            if str(each.id).lower() == rest[0].lower():
                return _told(each)
        raise NotFoundException(detail="There is nothing at this address.")
    listed = [_told(each).content for each in found]
    return _Answer(200, _page(len(listed), 1, listed))


def _one(request: HttpRequest, provider: IdentityProvider, kind: str, entry_id: str) -> _Answer:
    match request.method:
        case "GET" | "HEAD":
            asked = _search(request, kind)
            return _told(_read(provider, kind, entry_id), asked=asked)
        case "PUT":
            return _put(request, provider, kind, entry_id)
        case "PATCH":
            return _patch(request, provider, kind, entry_id)
        case "DELETE":
            delete = directory_actions.delete_user if kind == "Users" else directory_actions.delete_group
            delete(provider.id, entry_id, source_address=source_address(request), request_id=request_id_of(request))
            return _Answer(204)
    raise _NotAllowed()


def _list(provider: IdentityProvider, kind: str, asked: SearchRequest[Any]) -> _Answer:
    """Of one kind, or of both (""). In the order of their making."""
    start = (asked.start_index or 1) - 1
    count = PAGE_LIMIT if asked.count is None else min(asked.count, PAGE_LIMIT)
    exact = _exactly(provider, kind, asked)
    if exact is not None:
        total, found = exact.count(), [_resource(each) for each in exact[start : start + count]]
    else:
        kinds = [kind] if kind else ["Users", "Groups"]
        if sum(_rows(provider, each).count() for each in kinds) > READ_LIMIT:
            raise TooManyException(
                detail=f"Ask for one userName, displayName, externalId or id: there are over {READ_LIMIT}."
            )
        every = (_resource(row) for each in kinds for row in _rows(provider, each))
        matching = [each for each in every if asked.filter is None or asked.filter.match(each)]
        total, found = len(matching), matching[start : start + count]
    return _Answer(200, _page(total, start + 1, [_told(each, asked=asked).content for each in found]))


def _rows(provider: IdentityProvider, kind: str) -> QuerySet[Any]:
    if kind == "Users":
        return DirectoryUser.objects.filter(provider=provider).order_by("id")
    return DirectoryGroup.objects.filter(provider=provider).order_by("id").prefetch_related("members")


def _exactly(provider: IdentityProvider, kind: str, asked: SearchRequest[Any]) -> QuerySet[Any] | None:
    """What was asked for, where the database can tell; None: it cannot."""
    if not kind:
        return None
    if asked.filter is None:
        return _rows(provider, kind)
    node = asked.filter.ast
    if isinstance(node, Comparison) and node.op is CompareOperator.eq and isinstance(node.value, str):
        column = _INDEXED[kind].get(str(node.attr_path).lower())
        if column is not None:
            return (
                _rows(provider, kind).filter(**{column: node.value})
                if _is_text(node.value)
                else _rows(provider, kind).none()
            )
    return None


def _search(request: HttpRequest, kind: str) -> SearchRequest[Any]:
    given: dict[str, Any] = dict(request.GET.items())
    for name in ("attributes", "excludedAttributes"):
        if name in given:
            given[name] = [each.strip() for each in given[name].split(",") if each.strip()]
    known = {
        name: given[name]
        for name in ("filter", "startIndex", "count", "attributes", "excludedAttributes")
        if name in given
    }
    return _SEARCHES[kind].model_validate(known)


def _put(request: HttpRequest, provider: IdentityProvider, kind: str, entry_id: str | None) -> _Answer:
    context = Context.RESOURCE_CREATION_REQUEST if entry_id is None else Context.RESOURCE_REPLACEMENT_REQUEST
    wanted = _MODELS[kind].model_validate(_body(request), scim_ctx=context)
    if entry_id is None and isinstance(wanted, User) and wanted.active is None:
        wanted.active = True
    with transaction.atomic():
        directory_actions.lock_directory(provider.id)
        if entry_id is not None:
            wanted.replace(_read(provider, kind, entry_id))
        return _kept(request, provider, kind, wanted, entry_id)


def _patch(request: HttpRequest, provider: IdentityProvider, kind: str, entry_id: str) -> _Answer:
    patch = _PATCHES[kind].model_validate(_body(request), scim_ctx=Context.RESOURCE_PATCH_REQUEST)
    with transaction.atomic():
        # Directories send people of one group beside each other: what one adds must not be lost with the next.
        directory_actions.lock_directory(provider.id)
        wanted = _read(provider, kind, entry_id)
        patch.patch(wanted)
        return _kept(request, provider, kind, wanted, entry_id)


def _kept(
    request: HttpRequest, provider: IdentityProvider, kind: str, wanted: Resource[Any], entry_id: str | None
) -> _Answer:
    address, number = source_address(request), request_id_of(request)
    if isinstance(wanted, User):
        kept = directory_actions.put_user(provider.id, wanted, entry_id, source_address=address, request_id=number)
    else:
        group = cast(Group, wanted)
        kept = directory_actions.put_group(provider.id, group, entry_id, source_address=address, request_id=number)
    asked = _search(request, kind)
    return _told(_read(provider, kind, kept), status=201 if entry_id is None else 200, asked=asked)


def _read(provider: IdentityProvider, kind: str, entry_id: str) -> Resource[Any]:
    if kind == "Users":
        return directory.user_resource(directory_actions.find_user(provider.id, entry_id))
    return directory.group_resource(directory_actions.find_group(provider.id, entry_id))


def _resource(row: DirectoryUser | DirectoryGroup) -> Resource[Any]:
    return directory.user_resource(row) if isinstance(row, DirectoryUser) else directory.group_resource(row)


def _body(request: HttpRequest) -> Any:
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise InvalidSyntaxException(detail="The body is no JSON.") from error
    if not _is_text(json.dumps(body, ensure_ascii=False).replace(r"\\", "").replace(r"\u0000", "\0")):
        raise InvalidSyntaxException(detail="The body holds a character that is none, NUL or half a pair.")
    return body


def _is_text(given: str) -> bool:
    """Whether the database can hold it."""
    return "\0" not in given and not any("\ud800" <= each <= "\udfff" for each in given)


def _told(resource: Any, *, status: int = 200, asked: SearchRequest[Any] | None = None) -> _Answer:
    context = Context.RESOURCE_CREATION_RESPONSE if status == 201 else Context.RESOURCE_QUERY_RESPONSE
    return _Answer(status, resource.model_dump(scim_ctx=context, response_parameters=asked))


def _page(total: int, start: int, resources: list[Any]) -> dict[str, Any]:
    return {
        "schemas": [str(ListResponse.__schema__)],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(resources),
        "Resources": resources,
    }


def _refused(error: Error) -> _Answer:
    return _Answer(error.status or 400, error.model_dump())

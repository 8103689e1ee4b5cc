"""Lists are read page by page, newest first, one query per page."""

from collections.abc import Callable
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpResponse
from ninja import Schema
from pydantic import Field, StringConstraints
from pydantic_core import to_json

Cursor = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]


class PageQuery(Schema):
    """The query parameters of every list. Ids sort by age, so the last id of a page says where the next one starts."""

    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Cursor | None = Field(None, description="next_cursor of the page before; opaque")


def page(
    rows: QuerySet[Any, Any], query: PageQuery, shape: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """One page of ``rows`` (a ``.values(...)`` that has ``id``), each put through ``shape``.

    Any length of list costs the same: the index on (organisation, -id) is entered at the cursor, never counted.
    """
    if query.cursor is not None:
        rows = rows.filter(id__lt=query.cursor)
    found = list(rows.order_by("-id")[: query.limit + 1])
    more = len(found) > query.limit
    del found[query.limit :]
    return {"items": [shape(row) for row in found], "next_cursor": found[-1]["id"] if more else None}


def prepared(body: Any, *, status: int = 200) -> HttpResponse:
    """A finished answer from plain data.

    Validating each row of a list a second time on the way out costs more than reading it. Routes declare their schema
    for the API's description and hand in data of that shape; each route's test holds the two together.
    """
    return HttpResponse(to_json(body), status=status, content_type="application/json")

"""Lists are read page by page, newest first, one query per page."""

import base64
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Self

from django.db import connection
from django.db.models import QuerySet
from django.http import HttpResponse
from ninja import Schema
from pydantic import Field, StringConstraints
from pydantic_core import from_json, to_json

from backend.core.errors import Invalid

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
    return cut(list(rows.order_by("-id")[: query.limit + 1]), query, shape)


class Compiled:
    """The statement of a query set, made once: making it costs more than reading the rows of a page.

    Values that differ from call to call are words in the query set, `WORD.format("name")`, and come by name.
    """

    WORD = "value to come: {}"

    def __init__(self, sql: str, parameters: Collection[Any], *, json: Collection[str]) -> None:
        """`json`: the columns that are JSON; None in them stays None."""
        self._sql = sql
        self._parameters = tuple(parameters)
        self._json = frozenset(json)

    @classmethod
    def of(cls, rows: QuerySet[Any, dict[str, Any]], *, json: Collection[str] = ()) -> Self:
        """`rows`: a ``.values(...)`` of columns and annotations of one model, without foreign keys' columns."""
        sql, parameters = rows.query.sql_with_params()
        return cls(sql, parameters, json=json)

    def rows(self, values: Mapping[str, str]) -> list[dict[str, Any]]:
        words = {self.WORD.format(name): value for name, value in values.items()}
        parameters = [words.get(each, each) if isinstance(each, str) else each for each in self._parameters]
        with connection.cursor() as cursor:
            cursor.execute(self._sql, parameters)
            columns = [column.name for column in cursor.description or ()]
            found = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        for name in self._json.intersection(columns):
            for row in found:
                if row[name] is not None:
                    row[name] = from_json(row[name])
        return found


def cut(
    found: list[dict[str, Any]], query: PageQuery, shape: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """A page of rows of which one more was read than it holds."""
    more = len(found) > query.limit
    del found[query.limit :]
    return {"items": [shape(row) for row in found], "next_cursor": found[-1]["id"] if more else None}


def to_cursor(*content: str | float | None) -> str:
    """Where the next page begins, for lists in another order than that of ids."""
    return base64.urlsafe_b64encode(to_json(content)).decode().rstrip("=")


def from_cursor(cursor: str) -> list[Any]:
    """What `to_cursor` was given, or whatever somebody made up: look at it. ValueError when it is nothing at all."""
    found = from_json(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    if not isinstance(found, list):
        raise ValueError(cursor)
    return found


def foreign_cursor() -> Invalid:
    return Invalid(
        "invalid_field",
        "This cursor is none of this list.",
        hint="Send next_cursor of the page before, with the same filters, or leave it out.",
        field="cursor",
    )


def prepared(body: Any, *, status: int = 200) -> HttpResponse:
    """A finished answer from plain data.

    Validating each row of a list a second time on the way out costs more than reading it. Routes declare their schema
    for the API's description and hand in data of that shape; each route's test holds the two together.
    """
    return HttpResponse(to_json(body), status=status, content_type="application/json")

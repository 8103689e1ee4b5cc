"""Codes are found along all that a route's code mentions, and nothing that it does not."""

import ast
import json

from infra.contract.error_codes import SOURCES, sources
from infra.contract.error_reach import read

_SOURCES = {
    "core/errors.py": "class DomainError(Exception): ...\nclass Conflict(DomainError):\n    status = 409\n",
    "shop/api.py": """
from backend.shop import actions
from backend.shop.goods import Basket
@router.post("/buy", operation_id="buy")
def buy(request):
    return actions.buy(Basket())
@router.get("/look", operation_id="look")
def look(request):
    return 1
""",
    "shop/actions.py": """
from backend.core.errors import Conflict
from backend.shop.goods import PRICES
def buy(basket):
    basket.empty()
    PRICES["shoe"]()
    Later()
def sell(basket):
    raise Conflict("not_for_sale", "No.")
class Later:
    def __init__(self):
        raise Conflict("too_late", "It is closed.")
""",
    "shop/goods.py": """
from backend.core.errors import Conflict
def _shoe():
    raise Conflict("no_shoes", "There is none.")
PRICES = {"shoe": _shoe}
class Bag:
    def empty(self):
        raise Conflict("bag_is_empty", "It is.")
    def full(self):
        raise Conflict("bag_is_full", "It is.")
class Basket(Bag): ...
class Other:
    def empty(self):
        raise Conflict("other", "Never made.")
""",
}


def test_functions_tables_classes_and_inherited_methods_are_followed() -> None:
    graph = read({file: ast.parse(text) for file, text in _SOURCES.items()})
    found = {code for _, code in graph.answered_from({graph.routes["buy"]})}
    assert found == {"bag_is_empty", "no_shoes", "too_late"}
    assert graph.answered_from({graph.routes["look"]}) == set()


def test_every_operation_of_the_api_is_found_with_its_codes() -> None:
    graph = read(sources())
    paths = json.loads((SOURCES / "openapi.json").read_text())["paths"].values()
    assert set(graph.routes) == {one["operationId"] for methods in paths for one in methods.values()}
    codes = graph.answered_from({graph.routes["create_cluster"]})
    assert {(409, "name_taken"), (409, "node_ceiling_reached"), (422, "unknown_region")} <= codes
    assert {(409, "racks_not_even"), (422, "unknown_zone")} <= graph.answered_from({graph.routes["change_cluster"]})

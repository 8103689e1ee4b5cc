import pytest

from backend.catalog import actions, queries
from backend.catalog.schemas import Catalog


@pytest.mark.parametrize(
    ("memory", "budget", "used", "fit"),
    [(600, None, 0, None), (600, 1800, 0, 3), (600, 1799, 0, 2), (600, 100, 900, 0)],
)
def test_it_says_how_many_nodes_fit(memory: int, budget: int | None, used: int, fit: int | None):
    assert queries.nodes_that_fit(memory, budget_mib=budget, used_mib=used) == fit


def test_it_shows_everything_that_can_be_ordered(db, django_assert_num_queries):
    actions.load(with_tests=True)
    actions.record_memory_budget("local/local-1", 3000)
    with django_assert_num_queries(6):
        shown = queries.catalog({"local/local-1": 1200})
    Catalog.model_validate(shown)
    local = shown["providers"][1]
    assert local["id"] == "local"
    assert local["regions"][0]["nodes_that_fit"] == {"local.small": 3, "local.medium": 2, "local.large": 1}
    fake = shown["providers"][0]
    assert fake["regions"][0]["nodes_that_fit"] == {"fake.small": None, "fake.large": None}
    assert shown["engines"][0]["versions"][0] == {"version": "5.0.5", "is_default": True, "upgrades_from": []}
    setting = shown["engines"][0]["settings"][0]
    assert (setting["name"], setting["unit"], setting["default"], setting["live"]) == (
        "read_timeout_ms",
        "ms",
        5000,
        True,
    )

from collections.abc import Callable

from backend.clusters.models import Cluster
from backend.conftest import ApiClient


def test_it_says_what_can_be_ordered_and_how_much_fits(
    api: ApiClient, creating: Cluster, budget: Callable[[int | None], None]
):
    budget(3 * 600 + 1300)
    catalog = api.get("/catalog").json()
    (local,) = [provider for provider in catalog["providers"] if provider["id"] == "local"]
    region = local["regions"][0]
    assert region["zones"] == ["local-1a", "local-1b", "local-1c"]
    assert region["nodes_that_fit"] == {"local.small": 2, "local.medium": 1, "local.large": 0}
    cassandra, scylla = catalog["engines"]
    assert (scylla["title"], list(scylla["not_on"])) == ("ScyllaDB", ["local"])
    assert [version["is_default"] for version in cassandra["versions"]].count(True) == 1


def test_a_region_without_a_budget_says_so(api: ApiClient, budget: Callable[[int | None], None]):
    budget(None)
    providers = api.get("/catalog").json()["providers"]
    assert {fit for p in providers for r in p["regions"] for fit in r["nodes_that_fit"].values()} == {None}

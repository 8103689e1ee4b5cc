import pytest

from backend.catalog import actions, queries
from backend.catalog.models import MachineType, Region, Zone
from backend.catalog.schemas import Catalog, CatalogMachineType

BOTH = {"aws": None, "gcp": None}


def shown(provider: str, name: str) -> CatalogMachineType:
    found = Catalog.model_validate(queries.catalog({}))
    (kinds,) = [each.machine_types for each in found.providers if each.id == provider]
    (kind,) = [each for each in kinds if each.name == name]
    return kind


def test_clouds_are_only_there_where_they_are_offered(db):
    actions.load(with_tests=False)
    assert queries.provider_names() == ["local"]
    assert not MachineType.objects.exclude(provider_id="local").exists()
    actions.load(with_tests=False, clouds={"gcp": None})
    assert queries.provider_names() == ["gcp", "local"]
    actions.load(with_tests=False)
    assert queries.provider_names() == ["local"]
    assert queries.find_machine_type("gcp", "n2-highmem-8") is None


def test_loading_clouds_twice_changes_nothing(db):
    actions.load(with_tests=False, clouds=BOTH)
    before = [list(model.objects.order_by("id").values()) for model in (Region, Zone, MachineType)]
    actions.load(with_tests=False, clouds=BOTH)
    assert [list(model.objects.order_by("id").values()) for model in (Region, Zone, MachineType)] == before
    assert MachineType.objects.filter(provider_id__in=BOTH, enabled=True).count() == 108


def test_only_regions_that_the_installation_uses_are_offered(db):
    actions.load(with_tests=False, clouds={"aws": ["eu-central-1", "mars-1"]})
    assert queries.region_names("aws") == ["eu-central-1"]
    region = queries.find_region("aws", "eu-central-1")
    assert region is not None
    assert region.zones == ("eu-central-1a", "eu-central-1b", "eu-central-1c")
    assert region.memory_budget_mib is None


def test_it_shows_the_figures_of_a_machine_type(db, django_assert_num_queries):
    actions.load(with_tests=False, clouds=BOTH)
    with django_assert_num_queries(6):
        queries.catalog({})
    kind = shown("aws", "i3.8xlarge")
    assert (kind.vcpus, kind.cores, kind.threads_per_core, kind.shards) == (32, 16, 2, 30)
    assert (kind.numa_nodes, kind.numa_source) == (1, "expected")
    assert (kind.architecture, kind.nvme_count, kind.nvme_size_gb) == ("x86_64", 4, 1900)
    assert kind.io is not None
    assert (kind.io.read_iops, kind.io.write_iops, kind.io.source) == (1_644_800, 720_000, "preset")
    assert kind.price is not None
    assert (kind.price.micros_per_hour, kind.price.currency) == (2_496_000, "USD")
    assert (kind.price.region, kind.price.date.isoformat()) == ("us-east-1", "2026-07-06")


def test_what_is_not_known_is_null(db):
    actions.load(with_tests=False, clouds=BOTH)
    assert shown("aws", "i7i.48xlarge").io is None
    assert shown("gcp", "n2-highmem-8").network_baseline_gbps is None
    local = shown("local", "local.small")
    assert (local.io, local.price, local.shards, local.numa_source, local.nvme_count) == (None,) * 5


@pytest.mark.parametrize(("provider", "kind", "other"), [("aws", "i3.large", "gcp"), ("gcp", "n2-highmem-8", "aws")])
def test_a_cloud_has_only_its_own_types_and_regions(db, provider: str, kind: str, other: str):
    actions.load(with_tests=False, clouds=BOTH)
    assert queries.find_machine_type(provider, kind) is not None
    assert queries.find_machine_type(other, kind) is None
    assert not set(queries.region_names(provider)) & set(queries.region_names(other))


def test_nobody_but_the_cloud_says_how_many_nodes_fit(db):
    actions.load(with_tests=False, clouds=BOTH)
    for provider in queries.catalog({})["providers"]:
        if provider["id"] in BOTH:
            assert {fit for region in provider["regions"] for fit in region["nodes_that_fit"].values()} == {None}

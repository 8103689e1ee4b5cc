"""What the clouds' price lists are read as, held against the catalogue's own figures."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import Emulator
from provisioner.providers.base import AccessDenied, ListPrice
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.world import World
from provisioner.providers.tests.gcp_world import emulated, settings_for

CATALOGUE = json.loads((Path(__file__).resolve().parents[3] / "images/machine/data/instances.json").read_text())


@pytest.fixture
def gcp_settings() -> Iterator[GcpSettings]:
    with emulated(World()) as emulator:
        yield settings_for(emulator)


def listed(provider: str, key: str = "on_demand_usd_hour") -> dict[str, int]:
    """Micro-dollars an hour of each type."""
    entries = [entry for entry in CATALOGUE["instances"] if entry["provider"] == provider]
    return {entry["type"]: round(entry.get(key, entry["on_demand_usd_hour"]) * 1e6) for entry in entries}


def of_term(prices: list[ListPrice], term: str) -> dict[str, int]:
    return {price.name: price.micros for price in prices if price.item == "machine" and price.term == term}


def test_aws_tells_machines_with_their_terms_and_the_boot_disk(aws_settings: AwsSettings) -> None:
    told = AwsProvider(aws_settings).price_list(regions=["us-east-1", "eu-west-1"])
    here = list(told["us-east-1"])
    assert of_term(here, "on_demand") == listed("aws")
    assert of_term(here, "reserved_1y")["i3.metal"] == round(4_992_000 * 0.63)
    assert of_term(here, "reserved_3y")["i3.metal"] == round(4_992_000 * 0.43)
    (disk,) = [price for price in here if price.item == "block_storage"]
    assert disk == ListPrice(item="block_storage", name="gp3", micros=80_000, day=datetime.date(2026, 11, 1))
    assert len({(price.item, price.name, price.term) for price in here}) == len(here)
    assert of_term(list(told["eu-west-1"]), "on_demand")["i3.metal"] == 5_491_200


def test_aws_is_asked_where_it_tells_prices_wherever_machines_may_be(aws_settings: AwsSettings) -> None:
    provider = AwsProvider(replace(aws_settings, regions=("eu-west-1",)))
    assert len(provider.price_list(regions=["eu-west-1"])["eu-west-1"]) > 100
    assert provider.price_list(regions=["xx-nowhere-1"]) == {"xx-nowhere-1": []}


def test_aws_names_the_permission_that_is_missing(aws_cloud: Emulator, aws_settings: AwsSettings) -> None:
    aws_cloud.denied = {"pricing:GetProducts"}
    with pytest.raises(AccessDenied, match="pricing:GetProducts"):
        AwsProvider(aws_settings).price_list(regions=["us-east-1"])


def test_gcp_adds_machines_up_from_their_parts(gcp_settings: GcpSettings) -> None:
    told = GcpProvider(gcp_settings).price_list(regions=["us-central1", "europe-west1", "asia-east1"])
    here = list(told["us-central1"])
    found, wanted = of_term(here, "on_demand"), listed("gcp", "on_demand_usd_hour_with_recommended_local_ssd")
    assert found.keys() == wanted.keys()
    assert all(abs(found[name] - wanted[name]) <= 1 for name in wanted)
    # By hand: 16 × 0.031611 + 128 × 0.004237 + 8 × 375 × 0.08 ÷ 730.
    assert found["n2-highmem-16"] == 1_376_879
    # 16 × 0.019915 + 128 × 0.002669 + 8 × 375 × 0.0504 ÷ 730; three years: local SSDs on demand.
    assert of_term(here, "reserved_1y")["n2-highmem-16"] == 867_395
    assert of_term(here, "reserved_3y")["n2-highmem-16"] == 16 * 14_225 + 128 * 1_907 + 328_767
    assert not any(name.startswith("z3") for name in of_term(here, "reserved_1y"))
    (disk,) = [price for price in here if price.item == "block_storage"]
    assert disk == ListPrice(item="block_storage", name="pd-balanced", micros=100_000, day=datetime.date(2026, 10, 1))
    belgium = of_term(list(told["europe-west1"]), "on_demand")
    assert set(belgium) == {name for name in wanted if name.startswith("n2")}
    assert belgium["n2-highmem-2"] == round(2 * 34_773 + 16 * 4_661 + 375 * 88_000 / 730)
    assert list(told["asia-east1"]) == []


def test_gcp_takes_the_price_of_the_region_before_that_of_a_larger_area(gcp_settings: GcpSettings) -> None:
    told = GcpProvider(gcp_settings).price_list(regions=["us-central1"])["us-central1"]
    # Core: Iowa's, though the Americas' is dearer. Memory: the dearer of two of the region. Local SSD: the general one.
    expected = 8 * 49_655.5 + 64 * 6_655 + 3000 * 80_000 / 730
    assert of_term(list(told), "on_demand")["z3-highmem-8-highlssd"] == round(expected)

from django.core.management import call_command

from backend.catalog import actions, queries
from backend.catalog.models import EngineVersion, MachineType, Region


def test_it_loads_the_local_provider_and_cassandra(db):
    call_command("load_catalog")
    assert queries.provider_names() == ["local"]
    region = queries.find_region("local", "local-1")
    assert region is not None
    assert region.zones == ("local-1a", "local-1b", "local-1c")
    assert queries.machine_type_names("local") == ["local.small", "local.medium", "local.large"]
    default = queries.find_engine_version("cassandra")
    assert default is not None
    assert default.version == "5.0.5"
    assert len(queries.engine_version_names("cassandra")) == 2


def test_loading_twice_changes_nothing_and_keeps_the_memory_budget(db):
    actions.load(with_tests=False)
    actions.record_memory_budget("local/local-1", 4096)
    before = (
        list(Region.objects.order_by("id").values()),
        list(MachineType.objects.order_by("pk").values()),
        list(EngineVersion.objects.order_by("pk").values()),
    )
    actions.load(with_tests=False)
    after = (
        list(Region.objects.order_by("id").values()),
        list(MachineType.objects.order_by("pk").values()),
        list(EngineVersion.objects.order_by("pk").values()),
    )
    assert after == before


def test_the_pretended_provider_is_only_there_for_tests(db):
    actions.load(with_tests=True)
    assert queries.provider_names() == ["fake", "local"]
    actions.load(with_tests=False)
    assert queries.provider_names() == ["local"]
    assert queries.find_region("fake", "fake-1") is None
    assert queries.find_machine_type("fake", "fake.small") is None
    assert Region.objects.filter(id="fake/fake-1").exists()


def test_what_left_the_files_cannot_be_ordered_any_more(db):
    actions.load(with_tests=False)
    MachineType.objects.create(id="local/old", provider_id="local", name="old", memory_mib=1, heap_mib=1)
    actions.load(with_tests=False)
    assert queries.find_machine_type("local", "old") is None
    assert MachineType.objects.filter(name="old").exists()

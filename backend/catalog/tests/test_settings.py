import pytest

from backend.catalog import actions, queries


@pytest.fixture(autouse=True)
def _catalog(db):
    actions.load(with_tests=False)


def _messages(**settings: object) -> list[str]:
    return [problem.message for problem in queries.check_settings("cassandra", settings)]


def test_it_takes_what_is_within_the_limits():
    assert _messages(read_timeout_ms=100, cdc_enabled=True, gc="zgc", compaction_throughput_mib=0) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"read_timeout_ms": 99}, "Read timeout is a whole number from 100 to 600000 ms."),
        ({"read_timeout_ms": True}, "Read timeout is a whole number from 100 to 600000 ms."),
        ({"read_timeout_ms": "100"}, "Read timeout is a whole number from 100 to 600000 ms."),
        ({"read_timeout_ms": None}, "Read timeout is a whole number from 100 to 600000 ms."),
        ({"cdc_enabled": 1}, "Change data capture is true or false."),
        ({"gc": "shenandoah"}, "Garbage collector is one of default, serial, g1, zgc."),
        ({"gc": ["g1"]}, "Garbage collector is one of default, serial, g1, zgc."),
        (
            {"tombstone_warn_threshold": 200_000},
            "Tombstones: warn is 200000, but may not exceed tombstones: fail, 100000.",
        ),
        ({"batch_size_fail_kib": 4}, "Batch size: warn is 5, but may not exceed batch size: fail, 4."),
    ],
)
def test_it_says_what_is_wrong(settings: dict[str, object], message: str):
    assert _messages(**settings) == [message]


def test_it_names_the_settings_there_are():
    (problem,) = queries.check_settings("cassandra", {"authenticator": "AllowAll"})
    assert problem.name == "authenticator"
    assert problem.message.startswith("There is no setting authenticator. Known: read_timeout_ms, range_timeout_ms")


def test_a_change_back_to_the_engines_own_value_needs_a_restart():
    restarting = queries.settings_needing_restart
    assert restarting("cassandra", {}, {"read_timeout_ms": 200}) == []
    assert restarting("cassandra", {"read_timeout_ms": 200}, {"read_timeout_ms": 300}) == []
    assert restarting("cassandra", {"read_timeout_ms": 200}, {}) == ["read_timeout_ms"]
    assert restarting("cassandra", {}, {"gc": "g1", "write_timeout_ms": 900}) == ["gc"]
    assert restarting("cassandra", {"gc": "g1"}, {"gc": "g1"}) == []


def test_each_engine_has_settings_of_its_own():
    assert queries.check_settings("scylla", {"tablets": "disabled", "alternator_write_isolation": "always"}) == []
    (problem,) = queries.check_settings("scylla", {"alternator_write_isolation": "sometimes"})
    assert problem.message == (
        "DynamoDB API (Alternator) is one of off, always, only_rmw_uses_lwt, forbid_rmw, unsafe_rmw."
    )
    (problem,) = queries.check_settings("scylla", {"alternator_port": 9042})
    assert problem.message == "Port of the DynamoDB API is a whole number from 8000 to 8999."
    assert queries.check_settings("cassandra", {"tablets": "disabled"}) != []


def test_it_knows_the_ways_from_version_to_version():
    assert queries.upgrade_targets("cassandra", "5.0.5") == ["5.0.9"]
    assert queries.upgrade_targets("cassandra", "5.0.9") == []
    # The packages of a machine are those of its image: a node takes another version with another machine.
    assert queries.upgrade_targets("scylla", "2025.1.13") == []

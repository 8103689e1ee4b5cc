import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioner.engines.base import Capability, Engine, Entry, InvalidOption, Replaced, SettingDifference
from provisioner.engines.conformance import EngineConformance, three_zone_ring
from provisioner.engines.scylla import options as scylla_options
from provisioner.engines.scylla.engine import ScyllaEngine
from provisioner.engines.scylla.options import Alternator, ScyllaOptions, parse_options
from provisioner.engines.settings import Choice, Truth, Whole

VERSION = "2026.1.8"
GOLDEN = Path(__file__).resolve().parent / "golden" / "scylla"
DEAD = Replaced(address="10.2.0.9", host_id="7c7f3b8c-0000-4000-8000-000000000001")


class TestConformance(EngineConformance):
    version = VERSION

    @pytest.fixture
    def engine(self) -> Engine:
        return ScyllaEngine()


def test_it_says_how_it_differs() -> None:
    assert ScyllaEngine().capabilities == {
        Capability.PARALLEL_FIRST_START,
        Capability.PARALLEL_JOIN,
        Capability.TABLETS,
    }


@pytest.mark.parametrize(
    ("name", "entry", "options"),
    [
        ("first", Entry.FIRST, {}),
        ("join", Entry.JOIN, {}),
        ("replace", Entry.REPLACE, {}),
        ("member", Entry.MEMBER, {"read_timeout_ms": 8000, "tablets": "disabled", "auto_snapshot": False}),
        ("alternator", Entry.FIRST, {"alternator_write_isolation": "only_rmw_uses_lwt"}),
    ],
)
def test_it_writes_the_document_the_agent_takes(name: str, entry: Entry, options: dict[str, Any]) -> None:
    ring = replace(three_zone_ring(VERSION), options=options)
    replaces = DEAD if entry is Entry.REPLACE else None
    document = ScyllaEngine().node_config(ring, ring.members[1], entry, replaces=replaces).document
    assert document == json.loads((GOLDEN / f"{name}.json").read_text())


def test_a_newcomer_asks_others_for_the_ring() -> None:
    ring = three_zone_ring(VERSION)
    alone = replace(ring, members=(ring.members[0], *(replace(m, is_seed=False) for m in ring.members[1:])))
    assert ScyllaEngine().node_config(alone, alone.members[0]).document["seeds"] == ["10.1.0.1"]
    with pytest.raises(ValueError, match="no other node is a seed"):
        ScyllaEngine().node_config(alone, alone.members[0], Entry.JOIN)


def test_a_change_of_seeds_or_of_the_first_boot_needs_no_restart() -> None:
    ring = three_zone_ring(VERSION)
    fewer = replace(ring, members=(replace(ring.members[0], is_seed=False), *ring.members[1:]))
    engine, member = ScyllaEngine(), ring.members[1]
    assert engine.node_config(ring, member).revision == engine.node_config(fewer, member, Entry.MEMBER).revision
    other = replace(ring, options={"alternator_write_isolation": "always"})
    assert engine.node_config(ring, member).revision != engine.node_config(other, member).revision


def test_it_offers_the_dynamodb_api_when_asked_to() -> None:
    assert parse_options({}).alternator is None
    assert parse_options({"alternator_port": 8000}).alternator is None
    for isolation in scylla_options.WRITE_ISOLATIONS:
        assert parse_options({"alternator_write_isolation": isolation}).alternator == Alternator(
            port=8043, write_isolation=isolation
        )
    both = {"alternator_write_isolation": "always", "alternator_port": 8000}
    assert parse_options(both).alternator == Alternator(port=8000, write_isolation="always")
    assert parse_options(both).settings() == {}


@pytest.mark.parametrize(
    "options",
    [
        {"alternator_write_isolation": "sometimes"},
        {"alternator_write_isolation": True},
        {"alternator_port": 9042},
        {"alternator_port": 80},
        {"alternator_port": "8000"},
        {"tablets": "maybe"},
        {"tablets": ["enabled"]},
        {"read_timeout_ms": 99},
        {"read_timeout_ms": True},
        {"auto_snapshot": 1},
        {"authenticator": "AllowAllAuthenticator"},
    ],
)
def test_it_refuses_options_out_of_their_limits(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        parse_options(options)
    assert parse_options({}) == ScyllaOptions()


def _catalogue() -> dict[str, Any]:
    data = Path(__file__).resolve().parents[3] / "backend" / "catalog" / "data" / "scylla.json"
    engine: dict[str, Any] = json.loads(data.read_text())["engines"][0]
    return engine


def test_it_knows_the_settings_of_the_catalogue_with_the_same_limits() -> None:
    catalogue = {setting["name"]: setting for setting in _catalogue()["settings"]}
    assert sorted(catalogue) == sorted(scylla_options.names())
    isolation, port = catalogue["alternator_write_isolation"], catalogue["alternator_port"]
    assert isolation["choices"] == [scylla_options.OFF, *scylla_options.WRITE_ISOLATIONS]
    limits = (scylla_options.LOWEST_PORT, scylla_options.HIGHEST_PORT, scylla_options.ALTERNATOR_PORT)
    assert (port["minimum"], port["maximum"], port["default"]) == limits
    for name, setting in scylla_options.SETTINGS.items():
        shown = catalogue[name]
        match setting:
            case Truth():
                assert shown["type"] == "boolean", name
            case Choice():
                assert (shown["type"], shown["choices"]) == ("choice", list(setting.words)), name
            case Whole():
                limits = (shown["type"], shown["minimum"], shown["maximum"])
                assert limits == ("integer", setting.low, setting.high), name


def test_what_the_catalogue_calls_the_engines_own_value_can_be_set() -> None:
    parse_options({setting["name"]: setting["default"] for setting in _catalogue()["settings"]})


def test_it_finds_what_a_running_engine_has_otherwise() -> None:
    wanted = {"read_timeout_ms": 8000, "auto_snapshot": False, "tablets": "disabled", "alternator_port": 8000}
    in_effect = {
        "read_request_timeout_in_ms": "8000",
        "auto_snapshot": "true",
        "tablets_mode_for_new_keyspaces": "disabled",
    }
    assert ScyllaEngine().settings_disagreement(wanted, in_effect) == [
        SettingDifference(setting="auto_snapshot", wanted="false", found="true")
    ]

"""What every engine promises, as tests. An engine's test module subclasses this and gives the fixture `engine`."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from provisioner.engines.base import (
    Engine,
    Entry,
    InvalidOption,
    NodeView,
    PeerView,
    Replaced,
    Ring,
    RingMember,
)

ZONES = ("zone-1a", "zone-1b", "zone-1c")


def three_zone_ring(version: str, *, nodes_per_zone: int = 1) -> Ring:
    """A ring over three zones, with four tokens per node; the first node of each zone is a seed."""
    members = tuple(
        RingMember(
            node_id=f"nod_{index}",
            name=f"demo-{ZONES[index % 3]}-{index // 3 + 1}",
            address=f"10.{index % 3 + 1}.0.{index // 3 + 1}",
            datacenter="test-region-1",
            rack=ZONES[index % 3],
            tokens=tuple(index * 1000 + step - 9_000_000_000_000_000_000 for step in range(4)),
            is_seed=index < 3,
            heap_mib=512,
        )
        for index in range(3 * nodes_per_zone)
    )
    return Ring(
        cluster_id="clu_1",
        name="demo clu_1",
        members=members,
        version=version,
    )


def agreeing_views(ring: Ring) -> list[NodeView]:
    """What the nodes of a healthy ring say."""
    return [
        NodeView(
            node_id=member.node_id,
            host_id=f"host-{member.node_id}",
            schema_version="schema-1",
            tokens=frozenset(member.tokens),
            peers=tuple(
                PeerView(
                    address=other.address,
                    host_id=f"host-{other.node_id}",
                    schema_version="schema-1",
                    rack=other.rack,
                    up=True,
                )
                for other in ring.members
                if other.node_id != member.node_id
            ),
        )
        for member in ring.members
    ]


Change = Callable[[NodeView], NodeView]


def _peer_changed(**changes: object) -> Change:
    """The first peer that the node sees, changed."""
    return lambda view: replace(view, peers=(replace(view.peers[0], **changes), *view.peers[1:]))  # type: ignore[arg-type]


DISAGREEMENTS: dict[str, Change] = {
    "a peer is not seen": lambda view: replace(view, peers=view.peers[1:]),
    "a peer is down": _peer_changed(up=False),
    "a peer has another host id": _peer_changed(host_id="host-old"),
    "a peer has another schema": _peer_changed(schema_version="schema-0"),
    "a peer is in another rack": _peer_changed(rack="zone-9z"),
    "a stranger is seen": lambda view: replace(view, peers=(*view.peers, replace(view.peers[0], address="10.9.9.9"))),
    "its own schema differs": lambda view: replace(view, schema_version="schema-0"),
    "its own tokens differ": lambda view: replace(view, tokens=view.tokens | {5}),
    "it has no tokens yet": lambda view: replace(view, tokens=frozenset()),
    "it has no host id yet": lambda view: replace(view, host_id=""),
}


class EngineConformance:
    version = "5.0.5"

    def ring(self, nodes_per_zone: int = 1) -> Ring:
        return three_zone_ring(self.version, nodes_per_zone=nodes_per_zone)

    # Configuration.

    def test_it_says_what_it_is(self, engine: Engine) -> None:
        assert engine.name == engine.name.lower()
        assert engine.title

    def test_it_says_where_clients_connect_to(self, engine: Engine) -> None:
        ports = engine.client_ports({})
        assert ports[0] == 9042
        assert len(set(ports)) == len(ports)

    def test_it_configures_every_member_as_json(self, engine: Engine) -> None:
        ring = self.ring(2)
        for member in ring.members:
            config = engine.node_config(ring, member)
            assert (config.engine, config.version) == (engine.name, ring.version)
            assert json.loads(json.dumps(config.document)) == config.document

    def test_it_configures_the_same_the_second_time(self, engine: Engine) -> None:
        ring = self.ring()
        assert engine.node_config(ring, ring.members[0]) == engine.node_config(ring, ring.members[0])

    def test_it_tells_each_node_its_own_place(self, engine: Engine) -> None:
        ring = self.ring(2)
        documents = [json.dumps(engine.node_config(ring, member).document) for member in ring.members]
        assert len(set(documents)) == len(ring.members)
        for member, document in zip(ring.members, documents, strict=True):
            assert member.address in document
            assert member.rack in document
            assert str(member.tokens[0]) in document

    def test_it_configures_no_node_that_is_not_in_the_ring(self, engine: Engine) -> None:
        ring = self.ring()
        with pytest.raises(ValueError, match="not a member"):
            engine.node_config(ring, replace(ring.members[0], node_id="nod_stranger"))

    def test_it_refuses_two_nodes_with_one_token(self, engine: Engine) -> None:
        ring = self.ring()
        twin = replace(ring.members[1], tokens=ring.members[0].tokens)
        with pytest.raises(ValueError, match="token"):
            engine.node_config(replace(ring, members=(ring.members[0], twin)), twin)

    def test_it_refuses_an_option_it_does_not_know(self, engine: Engine) -> None:
        ring = replace(self.ring(), options={"no_such_option": 1})
        with pytest.raises(InvalidOption) as refusal:
            engine.node_config(ring, ring.members[0])
        assert refusal.value.option == "no_such_option"

    @pytest.mark.parametrize("entry", [Entry.JOIN, Entry.JOIN_EMPTY])
    def test_it_tells_a_newcomer_who_is_there(self, engine: Engine, entry: Entry) -> None:
        ring = self.ring(2)
        newcomer = ring.members[5]
        joining = json.dumps(engine.node_config(ring, newcomer, entry).document["first_boot"])
        for member in ring.members[:5]:
            assert f'"{member.address}"' in joining
        assert f'"{newcomer.address}"' not in joining

    def test_it_tells_a_replacement_whose_place_it_takes(self, engine: Engine) -> None:
        ring = self.ring(2)
        dead = Replaced(address="10.9.9.9", host_id="7c7f3b8c-0000-4000-8000-000000000001")
        document = json.dumps(engine.node_config(ring, ring.members[5], Entry.REPLACE, replaces=dead).document)
        assert dead.address in document or dead.host_id in document
        with pytest.raises(ValueError, match="replace"):
            engine.node_config(ring, ring.members[5], Entry.REPLACE)

    def test_how_a_node_came_in_is_no_reason_to_restart_it(self, engine: Engine) -> None:
        ring = self.ring(2)
        revisions = {engine.node_config(ring, ring.members[5], entry).revision for entry in Entry if entry != "replace"}
        assert len(revisions) == 1
        assert revisions != {""}

    def test_its_settings_are_as_wanted_when_nothing_is_wanted(self, engine: Engine) -> None:
        assert engine.settings_disagreement({}, {"read_request_timeout": "1s", "no_such_setting": "1"}) == []

    # Placement.

    def test_the_shares_of_all_members_are_the_number_of_replicas(self, engine: Engine) -> None:
        ring = self.ring(2)
        shares = engine.holdings(ring, {"test-region-1": 3})
        assert sorted(shares) == sorted(member.node_id for member in ring.members)
        assert sum(shares.values()) == pytest.approx(3)

    # Agreement.

    def test_it_finds_no_difference_in_a_healthy_ring(self, engine: Engine) -> None:
        for nodes_per_zone in (1, 3):
            ring = self.ring(nodes_per_zone)
            assert engine.ring_disagreement(ring, agreeing_views(ring)) == ""

    def test_it_does_not_mind_the_order_of_views(self, engine: Engine) -> None:
        ring = self.ring()
        assert engine.ring_disagreement(ring, agreeing_views(ring)[::-1]) == ""

    def test_it_names_a_node_that_has_not_reported(self, engine: Engine) -> None:
        ring = self.ring()
        for missing in range(3):
            views = agreeing_views(ring)
            del views[missing]
            assert ring.members[missing].name in engine.ring_disagreement(ring, views)

    def test_it_refuses_a_report_of_a_stranger(self, engine: Engine) -> None:
        ring = self.ring()
        views = agreeing_views(ring)
        assert engine.ring_disagreement(ring, [*views, replace(views[0], node_id="nod_stranger", host_id="host-x")])

    def test_it_refuses_two_nodes_with_one_host_id(self, engine: Engine) -> None:
        ring = self.ring()
        views = agreeing_views(ring)
        views[1] = replace(views[1], host_id=views[0].host_id)
        assert engine.ring_disagreement(ring, views)

    @pytest.mark.parametrize("difference", DISAGREEMENTS)
    @pytest.mark.parametrize("where", [0, 1, 2])
    def test_it_finds_every_difference_at_every_node(self, engine: Engine, difference: str, where: int) -> None:
        ring = self.ring()
        views = agreeing_views(ring)
        views[where] = DISAGREEMENTS[difference](views[where])
        found = engine.ring_disagreement(ring, views)
        assert found
        assert "\n" not in found

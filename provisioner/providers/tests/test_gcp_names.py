import ipaddress
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.providers.base import InvalidRequest
from provisioner.providers.gcp.machine_types import machine_type
from provisioner.providers.gcp.names import checked_name, label, labels, request_id, subnet_range, tags, unlabel
from provisioner.providers.gcp_emulator.geography import MACHINE_TYPES


@given(st.text(max_size=10))
def test_it_reads_back_every_label_it_writes(text: str) -> None:
    try:
        written = label(text)
    except InvalidRequest:
        assert len(text.encode()) > 15
        return
    assert unlabel(written) == text
    assert set(written) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


@given(st.lists(st.sampled_from(["_", "__", "a", "A", "4", "__41"]), max_size=4).map("".join))
def test_it_reads_back_labels_that_look_like_escapes(text: str) -> None:
    assert unlabel(label(text)) == text


@pytest.mark.parametrize(
    ("text", "written"), [("clu_01jabc", "clu_01jabc"), ("5.0.5", "5__2e0__2e5"), ("Ab", "__41b"), ("a__b", "a__5f_b")]
)
def test_it_leaves_alone_what_gcp_takes(text: str, written: str) -> None:
    assert label(text) == written


def test_it_refuses_tags_that_cannot_be_labels() -> None:
    with pytest.raises(InvalidRequest, match="too long"):
        label("x" * 64)
    with pytest.raises(InvalidRequest, match="lower-case"):
        labels({"Name": "x"}, installation="ringmaster", network="rm-net")


def test_it_keeps_its_own_labels_to_itself() -> None:
    given_tags = {"ringmaster-cluster": "clu_1"}
    assert tags(labels(given_tags, installation="ringmaster", network="rm-net")) == given_tags


@pytest.mark.parametrize("name", ["rm_nod", "Rm", "1rm", "rm-", "x" * 64, "", "rm/../x"])
def test_it_refuses_names_that_gcp_would_refuse(name: str) -> None:
    with pytest.raises(InvalidRequest):
        checked_name(name)


def test_it_derives_the_same_request_id_every_time() -> None:
    assert request_id("rm-one", "insert") == request_id("rm-one", "insert") != request_id("rm-two", "insert")
    assert uuid.UUID(request_id("rm-one")).version == 5


def test_it_gives_networks_subnets_of_the_address_block() -> None:
    block = ipaddress.ip_network("10.128.0.0/9")
    ranges = {subnet_range(str(block), f"rm-clu-{number}") for number in range(200)}
    assert all(ipaddress.ip_network(subnet).subnet_of(block) for subnet in ranges)  # type: ignore[arg-type]
    assert len(ranges) > 190


def test_it_asks_for_counts_of_local_ssds_that_are_offered() -> None:
    for name, facts in MACHINE_TYPES.items():
        kind = machine_type(name)
        assert kind.bundled is bool(facts.bundled_local_ssds)
        assert kind.bundled or kind.local_ssds in facts.local_ssd_counts


def test_it_knows_no_other_machine_types() -> None:
    with pytest.raises(InvalidRequest, match="n2-highmem-8"):
        machine_type("e2-micro")

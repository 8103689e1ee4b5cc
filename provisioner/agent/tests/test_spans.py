"""What comes back from a node is read as from a stranger, and calls are named by their route."""

import json

import pytest

from provisioner.agent.spans import of_call, read, route_of

GOOD = {
    "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
    "span": "00f067aa0ba902b7",
    "parent": "00f067aa0ba902b8",
    "name": "job start",
    "kind": "internal",
    "start": 1,
    "end": 2,
}


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/status", "/v1/status"),
        ("/v1/jobs/op-1-start?wait=2.00", "/v1/jobs/{name}"),
        ("/v1/statements/stm_1", "/v1/statements/{name}"),
        ("/v1/snapshots/a%2Fb/bundles?after=x", "/v1/snapshots/{tag}/bundles"),
        ("/v1/ring?keyspace=shop", "/v1/ring"),
    ],
)
def test_a_route_holds_no_names(path: str, route: str) -> None:
    assert route_of(path) == route


def test_it_reads_a_span() -> None:
    (span,) = read(json.dumps([GOOD]))
    assert (span.trace_id, span.name, span.error, span.attributes) == (
        0x4BF92F3577B34DA6A3CE929D0E0E4736,
        "job start",
        "",
        {},
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"trace": "0" * 32},
        {"trace": "4BF92F3577B34DA6A3CE929D0E0E4736"},
        {"span": "1"},
        {"parent": 7},
        {"name": "line\nbreak"},
        {"name": "ä"},
        {"kind": "client"},
        {"start": 3},
        {"start": "1"},
        {"start": True},
        {"end": 2**63},
        {"end": 1e3},
        {"attributes": []},
        {"attributes": {"http.route": 1}},
        {"error": None},
    ],
)
def test_what_is_wrong_is_left_out_alone(wrong: dict[str, object]) -> None:
    assert len(read(json.dumps([GOOD, GOOD | wrong, "no span", None]))) == 1


@pytest.mark.parametrize("header", ["", "{", "{}", "[" * 10_000, "[" + " " * 20_000 + "]", '"x"', "null"])
def test_what_is_no_list_of_spans_is_none(header: str) -> None:
    assert read(header) == ()


def test_it_takes_no_more_than_a_hundred_and_cuts_what_is_long() -> None:
    tiny = json.dumps(GOOD | {"name": ""}, separators=(",", ":"))
    many = f"[{','.join(['0'] * 99 + [tiny] * 2)}]"
    assert len(read(many)) == 1
    (span,) = read(json.dumps([GOOD | {"name": "x" * 1000}]))
    assert len(span.name) == 200


def test_outside_of_a_trace_an_agent_is_told_of_none() -> None:
    with of_call("GET", "/v1/status", "nod_1") as headers:
        assert headers == {}

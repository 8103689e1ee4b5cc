"""A real cluster is changed while an application works on it: a shorter run of the trials, one product for all."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from e2e.product import product
from e2e.trials.driver_under_change import Ground, carry_out, ground
from e2e.trials.static_stability import stay_up

pytestmark = pytest.mark.change

# The one that goes through the most code. All of them are run in e2e/slow/.
SHORT = ("replace",)


@pytest.fixture(scope="module")
def run() -> Iterator[Path]:
    # Not pytest's own folder: sockets in it would have names that are too long.
    with tempfile.TemporaryDirectory(prefix="rm-change-") as scratch:
        yield Path(scratch) / "run"


@pytest.fixture(scope="module")
def api(run: Path) -> Iterator[httpx.Client]:
    with product(run) as running:
        yield running


@pytest.fixture(scope="module")
def here(api: httpx.Client, run: Path) -> Iterator[Ground]:
    with ground(api, run) as found:
        yield found


def test_the_nodes_need_no_control_plane_to_come_back(
    here: Ground, record_property: Callable[[str, object], None]
) -> None:
    found = stay_up(here.api, here.run, here.cluster, here.known)
    record_property("figures", json.dumps(found))
    assert found["good"], found
    assert not here.monitor.violations()


@pytest.mark.parametrize("scenario", SHORT)
def test_no_request_fails_and_no_write_is_lost_during(
    scenario: str, here: Ground, record_property: Callable[[str, object], None]
) -> None:
    result = carry_out(here, scenario)
    record_property("figures", result.line())
    assert result.good, result.line()

"""What backend/openapi.json promises is what the API does, whoever asks, and nobody sees what is not theirs.

Every documented operation is called with made-up requests, valid and invalid, by three people: a viewer, a stranger
from another organisation, and an owner (last, because owners change things). The requests are the same in every run.
"""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from e2e.contract.server import Api
from e2e.contract.tenants import MARK

DESCRIPTION = Path(__file__).resolve().parents[2] / "backend" / "openapi.json"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

# The event stream never ends; it has tests of its own.
schema = schemathesis.openapi.from_path(str(DESCRIPTION)).exclude(operation_id="stream_events")


def at_most(examples: int) -> settings:
    """The same examples in every run, and few enough for a minute or two in all."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@schema.parametrize()
@at_most(6)
def test_a_viewer_gets_what_is_documented(case: Any, api: Api) -> None:
    aim(case, api.tenants.ids)
    case.call_and_validate(base_url=api.url, headers=api.headers(api.tenants.viewer_token), checks=CHECKS, timeout=30)


@schema.parametrize()
@at_most(10)
def test_a_stranger_gets_what_is_documented_and_nothing_of_others(case: Any, api: Api) -> None:
    aim(case, api.tenants.ids)
    answer = case.call_and_validate(
        base_url=api.url, headers=api.headers(api.tenants.stranger_token), checks=CHECKS, timeout=30
    )
    assert leaks(answer.text, asked=(answer.request.url or "") + str(answer.request.body), api=api) == []


@schema.parametrize()
@at_most(20)
def test_an_owner_gets_what_is_documented(case: Any, api: Api) -> None:
    aim(case, api.tenants.ids)
    case.call_and_validate(base_url=api.url, headers=api.headers(api.tenants.owner_token), checks=CHECKS, timeout=30)


def aim(case: Any, ids: dict[str, str]) -> None:
    """Points two of three requests at things that exist: made-up ids alone would only ever meet a 404."""
    for name, value in (case.path_parameters or {}).items():
        if name in ids and len(str(value)) % 3:
            case.path_parameters[name] = ids[name]


def leaks(body: str, *, asked: str, api: Api) -> list[str]:
    """Ids and names of the owner's organisation in a stranger's answer, but for those the stranger sent along."""
    return [word for word in (MARK, *api.tenants.ids.values()) if word in body and word not in asked]

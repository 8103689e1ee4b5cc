"""Tags hold still: what can be changed under a condition has the same tag as long as nobody changes it."""

import json
import re
from pathlib import Path

import httpx
import pytest

from e2e.contract.server import Api

DESCRIPTION = Path(__file__).resolve().parents[2] / "backend" / "openapi.json"


def conditional() -> list[str]:
    """Addresses that have a write with If-Match."""
    condition = {"$ref": "#/components/parameters/IfMatch"}
    return [
        path
        for path, item in json.loads(DESCRIPTION.read_text())["paths"].items()
        if any(condition in operation["parameters"] for operation in item.values())
    ]


@pytest.mark.parametrize("path", conditional())
def test_what_nobody_changed_is_not_sent_again(api: Api, path: str) -> None:
    url = api.url + re.sub(r"\{(\w+)\}", lambda found: api.tenants.ids[found[1]], path)
    headers = api.headers(api.tenants.viewer_token)
    first = httpx.get(url, headers=headers, timeout=30)
    if first.status_code in (403, 404, 503):  # not for viewers, or none there
        assert "ETag" not in first.headers
        return
    assert first.status_code == 200, first.text
    again = httpx.get(url, headers=headers | {"If-None-Match": first.headers["ETag"]}, timeout=30)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])

from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.conftest import ApiClient
from backend.operations.tests.conftest import Start, set_steps


def ids(api: ApiClient, **filters: str) -> list[str]:
    answer = api.get(f"/operations?{urlencode(filters)}")
    assert answer.status_code == 200
    return [operation["id"] for operation in answer.json()["items"]]


def test_it_lists_newest_first_and_filters(api: ApiClient, start: Start):
    done = start(columns={"state": "succeeded"})
    running = start("clu_2", kind="delete_cluster", columns={"state": "running"})
    assert ids(api) == [running.id, done.id]
    assert ids(api, cluster_id="clu_1") == [done.id]
    assert ids(api, state="running") == [running.id]
    assert ids(api, kind="delete_cluster") == [running.id]
    assert ids(api, kind="delete_cluster", cluster_id="clu_1") == []


def test_page_by_page(api: ApiClient, start: Start):
    made = [start(f"clu_{number}").id for number in range(3)]
    first = api.get("/operations?limit=2").json()
    second = api.get(f"/operations?limit=2&cursor={first['next_cursor']}").json()
    assert [item["id"] for item in first["items"] + second["items"]] == made[::-1]


@pytest.mark.parametrize("query", ["state=odd", "limit=0", "cursor=x", "kind=a%00b", "cluster_id=a'b"])
def test_it_refuses_filters_that_cannot_be(api: ApiClient, query: str):
    assert api.get(f"/operations?{query}").status_code in (400, 422)


def test_the_number_of_queries_is_fixed(api: ApiClient, start: Start):
    start()
    api.get("/operations")

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            api.get("/operations")
        return len(captured)

    few = queries()
    for number in range(2, 8):
        set_steps(start(f"clu_{number}"), "done", "running")
    assert queries() == few <= 3

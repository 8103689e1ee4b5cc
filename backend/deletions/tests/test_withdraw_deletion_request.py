import pytest

from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.conftest import ApiClient
from backend.deletions.tests.conftest import asked, code, decided

pytestmark = pytest.mark.usefixtures("two")


def test_who_asked_thinks_better_of_it(api: ApiClient, second: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    assert decided(api, request, "withdraw").json()["state"] == "withdrawn"
    assert code(decided(second, request)) == (409, "deletion_request_closed")
    assert AuditRecord.objects.filter(action="deletion_request.withdraw", target_id=active.id).count() == 1


def test_whoever_could_confirm_it_says_no_also_to_one_that_is_confirmed(
    api: ApiClient, second: ApiClient, active: Cluster
):
    request = asked(api, "cluster", active.id)
    decided(second, request)
    withdrawn = decided(second, request, "withdraw").json()
    assert (withdrawn["state"], withdrawn["closed_by"].split()[0]) == ("withdrawn", "second@acme.example")
    assert code(api.delete(f"/clusters/{active.id}")) == (409, "second_person_needed")
    assert code(decided(api, request, "withdraw")) == (409, "deletion_request_closed")

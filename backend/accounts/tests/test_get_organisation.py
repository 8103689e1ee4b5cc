from backend.accounts.states import Permission, Role
from backend.conftest import Tenant


def test_everybody_may_read_their_organisation(tenant: Tenant, stranger: Tenant):
    answer = tenant.api(tenant.member(Role.VIEWER), scopes=[Permission.CLUSTERS_READ]).get("/organisation")
    assert answer.status_code == 200
    assert answer.json()["id"] == tenant.organisation.id
    assert answer.json()["name"] == "Acme"

"""That deletes take two people is turned on by one administrator, and off by two."""

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.deletions.tests.conftest import asked, code, decided

SETTINGS = "/organisation/access-settings"


def test_one_turns_it_on_and_two_turn_it_off(tenant: Tenant, api: ApiClient, active: Cluster):
    assert api.get(SETTINGS).json()["deletes_need_two"] is False
    assert api.patch(SETTINGS, {"deletes_need_two": True}).json()["deletes_need_two"] is True
    assert code(api.patch(SETTINGS, {"deletes_need_two": False})) == (409, "second_person_needed")
    assert api.get(SETTINGS).json()["deletes_need_two"] is True
    request = asked(api, "access_settings", tenant.organisation.id)
    assert code(decided(tenant.api(tenant.member(Role.OPERATOR)), request)) == (403, "forbidden")
    decided(tenant.api(tenant.member(Role.ADMIN)), request)
    assert api.patch(SETTINGS, {"deletes_need_two": False}).json()["deletes_need_two"] is False
    assert api.delete(f"/clusters/{active.id}").status_code == 202
    told = AuditRecord.objects.filter(action="organisation.change_access").latest("id").after
    assert (told["deletes_need_two"], told["confirmed_by"].split()[0]) == (False, "admin@acme.example")


def test_nothing_else_of_a_refused_change_is_kept(api: ApiClient):
    api.patch(SETTINGS, {"deletes_need_two": True})
    api.patch(SETTINGS, {"deletes_need_two": False, "token_days_max": 7})
    assert api.get(SETTINGS).json()["token_days_max"] is None


def test_other_settings_are_one_persons(api: ApiClient):
    api.patch(SETTINGS, {"deletes_need_two": True})
    changed = api.patch(SETTINGS, {"deletes_need_two": True, "token_days_max": 7})
    assert (changed.status_code, changed.json()["token_days_max"]) == (200, 7)


def test_who_may_not_change_members_turns_nothing_on(tenant: Tenant):
    operator = tenant.api(tenant.member(Role.OPERATOR))
    assert operator.patch(SETTINGS, {"deletes_need_two": True}).status_code == 403

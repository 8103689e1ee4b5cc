"""SCIM: what a provider's directory tells counts for who signs in through it, at once, and for nobody else."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.test.client import ClientHandler
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

from backend.accounts import directory_actions, provider_actions
from backend.accounts.models import ApiToken, DirectoryUser, IdentityProvider, Membership, User
from backend.accounts.states import Role
from backend.accounts.tests.providers import Browser, LyingProvider, known
from backend.accounts.tests.test_group_roles import mapped, signed_in
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
AWAY = {"op": "replace", "path": "active", "value": False}
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Directory:
    """As an identity provider speaks to us."""

    def __init__(self, provider: IdentityProvider) -> None:
        self.token = directory_actions.new_token(provider)
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)

    def __call__(self, method: str, path: str, body: object = None) -> Any:
        return self.client.generic(
            method,
            f"/scim/v2{path}",
            "" if body is None else json.dumps(body),
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {self.token}"},
        )

    def made(self, path: str, **told: Any) -> str:
        answer = self("POST", path, {"schemas": [USER if path == "/Users" else GROUP], **told})
        assert answer.status_code == 201, answer.content
        assert answer["Location"].endswith(f"/scim/v2{path}/{answer.json()['id']}")
        return str(answer.json()["id"])

    def changed(self, path: str, *operations: dict[str, Any]) -> dict[str, Any]:
        answer = self("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})
        assert answer.status_code == 200, answer.content
        return answer.json()  # type: ignore[no-any-return]


@pytest.fixture
def directory(corp: IdentityProvider) -> Directory:
    return Directory(corp)


def jane(directory: Directory, **told: Any) -> str:
    return directory.made("/Users", userName="jane@corp.example", externalId="00u1", **told)


def test_a_client_written_by_others_finds_that_the_protocol_is_kept(directory: Directory):
    headers = {"Authorization": f"Bearer {directory.token}"}
    client = WSGISCIMClient(_application, base_url="http://testserver/scim/v2", headers=headers)
    results = check_server(client)
    assert len(results) > 20
    wrong = [f"{each.title}: {each.reason}" for each in results if each.status in (Status.ERROR, Status.CRITICAL)]
    assert not wrong, "\n".join(wrong)


def _application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Within the test's transaction, as Django's own client does."""
    response = ClientHandler(enforce_csrf_checks=True)(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def test_groups_count_at_once_for_who_has_signed_in(
    directory: Directory, liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    api = tenant.api()
    mapped(api, corp, "dba", "operator", rank=2)
    mapped(api, corp, "staff", "viewer", rank=3)
    person = jane(directory)
    staff = directory.made("/Groups", displayName="staff", members=[{"value": person}])
    # What the token says of groups is not asked of whom the directory knows.
    browser = signed_in(liar, corp, "dba")
    assert browser.api.get("/session").json()["role"] == "viewer"

    dba = directory.made("/Groups", displayName="dba")
    # As Microsoft Entra sends it.
    directory.changed(f"/Groups/{dba}", {"op": "Add", "path": "members", "value": [{"value": person}]})
    assert browser.api.get("/session").json()["role"] == "operator"
    directory.changed(f"/Groups/{dba}", {"op": "Remove", "path": "members", "value": [{"value": person}]})
    assert browser.api.get("/session").json()["role"] == "viewer"
    # As Okta does.
    directory.changed(f"/Groups/{dba}", {"op": "add", "path": "members", "value": [{"value": person}]})
    directory.changed(f"/Groups/{dba}", {"op": "remove", "path": f'members[value eq "{person}"]'})
    directory.changed(f"/Groups/{staff}", {"op": "replace", "value": {"displayName": "everybody"}})
    assert browser.api.get("/members").json()["error"]["code"] == "no_organisation"
    assert directory("DELETE", f"/Groups/{staff}").status_code == 204
    by = "Corp (identity provider)"
    told = list(AuditRecord.objects.filter(target_type="member").order_by("id").values_list("action", "actor"))
    assert told == [
        ("member.add", by),
        *[("member.change_role", by)] * 3,
        ("member.change_role", by),
        ("member.remove", by),
    ]


def test_who_is_not_active_there_is_not_active_here(
    directory: Directory, liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    tenant.member(Role.VIEWER, email="jane@corp.example")
    person = jane(directory, active=True)
    browser = signed_in(liar, corp)
    user = User.objects.get(email="jane@corp.example")
    program = ApiClient(authorization=f"Bearer {tenant.token(user)}")
    assert program.get("/clusters").status_code == browser.api.get("/clusters").status_code == 200

    directory.changed(f"/Users/{person}", {"op": "Replace", "path": "active", "value": "False"})
    assert program.get("/clusters").status_code == browser.api.get("/clusters").status_code == 401
    api = tenant.api()
    listed = {each["email"]: each["active"] for each in api.get("/members").json()["items"]}
    assert listed == {tenant.owner.email: True, "jane@corp.example": False}
    assert [each["email"] for each in api.get("/members?active=false").json()["items"]] == ["jane@corp.example"]
    assert [each["email"] for each in api.get("/members?active=true").json()["items"]] == [tenant.owner.email]
    refused = Browser()
    answer = refused.come_back(liar.send_back(refused.start(corp).json()["url"]))
    assert "problem=account_inactive" in answer["Location"]
    directory.changed(f"/Users/{person}", {"op": "replace", "value": {"active": True}})
    assert program.get("/clusters").status_code == 200
    assert api.get("/members?active=false").json()["items"] == []
    assert signed_in(liar, corp).api.get("/clusters").status_code == 200

    assert directory("DELETE", f"/Users/{person}").status_code == 204
    assert directory("GET", f"/Users/{person}").status_code == 404
    assert program.get("/clusters").status_code == 401
    jane(directory)
    assert program.get("/clusters").status_code == 401, "what was deleted does not come back"
    assert ApiToken.objects.get(user=user).revoked_at is not None
    assert signed_in(liar, corp).api.get("/clusters").status_code == 200
    actions = AuditRecord.objects.filter(target_type="member").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["member.deactivate", "member.activate"] * 2


def test_accounts_that_did_not_come_through_the_provider_are_left_alone(directory: Directory, tenant: Tenant):
    tenant.owner.email = "jane@corp.example"
    tenant.owner.save()
    person = jane(directory, active=False, displayName="Somebody else")
    tenant.owner.refresh_from_db()
    assert (tenant.owner.is_active, tenant.owner.email) == (True, "jane@corp.example")
    assert directory("DELETE", f"/Users/{person}").status_code == 204
    assert tenant.api().get("/clusters").status_code == 200


def test_a_directory_speaks_for_addresses_of_its_domains_only(
    directory: Directory, liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    mapped(tenant.api(), corp, "dba", "operator")
    other = directory.made("/Users", userName="x", emails=[{"value": "jane@elsewhere.example", "primary": True}])
    assert DirectoryUser.objects.get(id=other).email == ""
    assert Membership.objects.count() == 1


def test_people_are_found_by_name_and_number_and_page(directory: Directory):
    people = [directory.made("/Users", userName=f"p{n}@corp.example", externalId=f"e{n}") for n in range(5)]
    found = directory("GET", '/Users?filter=userName eq "P3@corp.example"').json()
    assert [each["id"] for each in found["Resources"]] == [people[3]]
    found = directory("GET", '/Users?filter=externalId eq "e4"&attributes=userName').json()["Resources"][0]
    assert sorted(found) == ["id", "schemas", "userName"]
    page = directory("GET", "/Users?startIndex=2&count=2").json()
    assert (page["totalResults"], [each["id"] for each in page["Resources"]]) == (5, people[1:3])
    found = directory("GET", '/Users?filter=userName sw "p1" or emails pr').json()
    assert [each["id"] for each in found["Resources"]] == [people[1]]
    assert directory("GET", "/Users?filter=userName eq").json()["scimType"] == "invalidFilter"


def test_a_name_that_nobody_can_have_is_not_found(directory: Directory):
    jane(directory)
    for name in (r"\u0000", r"\ud800"):
        assert directory("GET", f'/Users?filter=userName eq "{name}"').json()["totalResults"] == 0


@pytest.mark.django_db(transaction=True)
def test_people_who_are_added_to_a_group_beside_each_other_are_all_in_it(directory: Directory):
    people = [directory.made("/Users", userName=f"p{n}@corp.example") for n in range(8)]
    group = directory.made("/Groups", displayName="dba")

    def add(person: str) -> int:
        try:
            operation = {"op": "add", "path": "members", "value": [{"value": person}]}
            return int(
                directory("PATCH", f"/Groups/{group}", {"schemas": [PATCH], "Operations": [operation]}).status_code
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(add, people)) == {200}
    assert [each["value"] for each in directory("GET", f"/Groups/{group}").json()["members"]] == sorted(people)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "word"),
    [
        ("POST", "/Users", {"schemas": [USER]}, 400, "userName"),
        ("POST", "/Users", {"schemas": [USER], "userName": "JANE@corp.example"}, 409, "userName"),
        ("POST", "/Users", [], 400, ""),
        ("POST", "/Users", {"schemas": [USER], "userName": "a\0"}, 400, "NUL"),
        ("POST", "/Users", {"schemas": [USER], "userName": "x", "displayName": "\ud800"}, 400, "half a pair"),
        ("POST", "/Groups", {"schemas": [GROUP], "displayName": "x", "members": [{"value": "dus_no"}]}, 400, "dus_no"),
        ("PATCH", "/Users/dus_no", {"schemas": [PATCH], "Operations": [AWAY]}, 404, "no such user"),
        ("PATCH", "/Users/dus_no", {"schemas": [PATCH], "Operations": []}, 400, "operations"),
        ("PUT", "/ServiceProviderConfig", {}, 405, "no such method"),
        ("GET", "/Bulk", None, 404, "nothing at this address"),
    ],
)
def test_bad_requests_are_told_as_the_protocol_says(
    directory: Directory, method: str, path: str, body: object, status: int, word: str
):
    jane(directory)
    answer = directory(method, path, body)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/scim+json"
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert word in answer.json()["detail"]
    assert DirectoryUser.objects.count() == 1


def test_only_the_last_token_of_the_provider_opens_and_only_its_own(
    directory: Directory, liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    person = jane(directory)
    other = known("https://other.example", name="Other", email_domains=["other.example"])
    foreign = Directory(other)
    assert foreign("GET", f"/Users/{person}").status_code == 404
    assert foreign("DELETE", f"/Users/{person}").status_code == 404
    assert foreign("GET", "/Users").json()["totalResults"] == 0
    member = {"schemas": [GROUP], "displayName": "x", "members": [{"value": person}]}
    assert foreign("POST", "/Groups", member).status_code == 400
    for wrong in ("", "rmd_wrong", tenant.token()):
        foreign.token = wrong
        assert foreign("GET", "/Users").status_code == 401
    newer = Directory(corp)
    assert directory("GET", "/Users").status_code == 401
    provider_actions.disable_provider(corp)
    assert newer("GET", "/Users").status_code == 401


def test_a_directory_that_is_forgotten_leaves_accounts_active(
    directory: Directory,
    liar: LyingProvider,
    corp: IdentityProvider,
    tenant: Tenant,
    capsys: pytest.CaptureFixture[str],
):
    mapped(tenant.api(), corp, "dba", "operator")
    person = jane(directory)
    signed_in(liar, corp, "dba")
    directory.changed(f"/Users/{person}", {"op": "replace", "path": "active", "value": False})
    call_command("identity_provider", "directory", "Corp", "--off")
    assert "people forgotten: 1" in capsys.readouterr().out
    assert directory("GET", "/Users").status_code == 401
    assert signed_in(liar, corp, "dba").api.get("/session").json()["role"] == "operator"
    call_command("identity_provider", "directory", "Corp")
    assert "/scim/v2\nToken, shown once: rmd_" in capsys.readouterr().out

"""Fixtures of the backend's tests: tenants with people in them, and clients that speak as one of them."""

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import pytest
from django.core.cache import cache
from django.test import Client

from backend.accounts.models import ApiToken, Membership, Organisation, User
from backend.accounts.queries import hash_secret
from backend.accounts.states import Permission, Role
from backend.config import error_codes
from backend.config.api import api

PASSWORD = "correct horse battery staple"


@functools.cache
def described_api() -> dict[str, Any]:
    # Through JSON, as clients see it: keys are strings.
    return json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))  # type: ignore[no-any-return]


@functools.cache
def _validator(method: str, path: str, status: int) -> Any:
    description = described_api()
    answer = description["paths"][path][method]["responses"].get(str(status))
    assert answer is not None, f"{method} {path} answered {status}, which its description does not mention"
    if "$ref" in answer:
        answer = description["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    return schema and jsonschema_rs.validator_for({**schema, "components": description["components"]})


def check_against_description(method: str, answer: Any) -> None:
    """Every answer in every test is what backend/openapi.json promises: routes that hand in finished bodies too."""
    if not answer.resolver_match or not answer.resolver_match.route.startswith("api/v1/"):
        return
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", answer.resolver_match.route)
    if method.lower() not in described_api()["paths"].get(path, {}):
        return
    if "fields" in answer.wsgi_request.GET and answer.status_code == 200:
        return  # some of what is promised was not wanted
    if answer.status_code >= 400 and answer["Content-Type"].startswith("application/json"):
        code = answer.json()["error"]["code"]
        operation = described_api()["paths"][path][method.lower()]["operationId"]
        assert code in error_codes.answerable(operation, answer.status_code), (
            f"{operation} answered {answer.status_code} {code}, which is not listed for it: run `make generate`, or see"
            " infra/contract/error_reach.py"
        )
    validator = _validator(method.lower(), path, answer.status_code)
    if validator is not None and not answer.streaming and answer["Content-Type"].startswith("application/json"):
        validator.validate(answer.json())


class ApiClient:
    """Speaks JSON to /api/v1 with one set of headers. Answers are Django's; `.json()` gives the body."""

    def __init__(self, *, client: Client | None = None, **headers: str) -> None:
        self.client = client or Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.headers = headers

    def get(self, path: str, **headers: str) -> Any:
        return self._send("GET", path, None, headers)

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        return self._send("POST", path, body, headers)

    def patch(self, path: str, body: object = None, **headers: str) -> Any:
        return self._send("PATCH", path, body, headers)

    def put(self, path: str, body: object = None, **headers: str) -> Any:
        return self._send("PUT", path, body, headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self._send("DELETE", path, None, headers)

    def _send(self, method: str, path: str, body: object, headers: dict[str, str]) -> Any:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = self.client.generic(
            method, f"/api/v1{path}", content, content_type="application/json", headers=self.headers | headers
        )
        check_against_description(method, answer)
        return answer


@dataclass(frozen=True)
class Tenant:
    organisation: Organisation
    owner: User

    def member(self, role: Role, *, email: str | None = None) -> User:
        user = User(email=email or f"{role}@{self.organisation.slug}.example", name=role.title())
        user.set_password(PASSWORD)
        user.save()
        Membership.objects.create(organisation=self.organisation, user=user, role=role)
        return user

    def token(self, user: User | None = None, *, scopes: list[Permission] | None = None, **columns: Any) -> str:
        holder = user or self.owner
        number = ApiToken.objects.count()
        secret = f"rmt_{self.organisation.id}-{holder.id}-{number}"
        ApiToken.objects.create(
            organisation=self.organisation,
            user=holder,
            name=f"test {number}",
            secret_hash=hash_secret(secret),
            hint=secret[-4:],
            scopes=list(Permission) if scopes is None else scopes,
            **columns,
        )
        return secret

    def api(self, user: User | None = None, *, scopes: list[Permission] | None = None) -> ApiClient:
        """A client with an API token of the user (the owner if none is named)."""
        return ApiClient(authorization=f"Bearer {self.token(user, scopes=scopes)}")

    def membership(self, user: User) -> Membership:
        return Membership.objects.get(organisation=self.organisation, user=user)


@pytest.fixture
def make_tenant(db: None) -> Callable[[str], Tenant]:
    def make(slug: str) -> Tenant:
        organisation = Organisation.objects.create(name=slug.title(), slug=slug)
        owner = User(email=f"owner@{slug}.example", name="Owner")
        owner.set_password(PASSWORD)
        owner.save()
        Membership.objects.create(organisation=organisation, user=owner, role=Role.OWNER)
        return Tenant(organisation, owner)

    return make


@pytest.fixture
def tenant(make_tenant: Callable[[str], Tenant]) -> Tenant:
    return make_tenant("acme")


@pytest.fixture
def stranger(make_tenant: Callable[[str], Tenant]) -> Tenant:
    """Another organisation, which must never see anything of `tenant`."""
    return make_tenant("stranger")


@pytest.fixture(autouse=True)
def _fresh_sign_in_limits(request: pytest.FixtureRequest) -> None:
    if "db" in request.fixturenames or request.node.get_closest_marker("django_db"):
        request.getfixturevalue("db")
        cache.clear()

"""What a provider's directory tells of people and groups (SCIM 2.0, RFC 7643), and how it is told back.

The protocol's rules are scim2-models'. We keep what we use of a person and drop the rest: a directory sends telephone
numbers, managers and more.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Meta,
    Mutability,
    Patch,
    Reference,
    Required,
    Resource,
    ResourceType,
    ScimPolicy,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)
from scim2_models.urn import URN

from backend.accounts.models import DirectoryGroup, DirectoryUser, IdentityProvider

PATH = "/scim/v2"
PAGE_LIMIT = 200
POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    # Both as Microsoft Entra sends them.
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)


class Name(ComplexAttribute):
    formatted: str | None = None
    family_name: str | None = None
    given_name: str | None = None


class Email(ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class User(Resource[Any]):
    """The attributes of a person that are kept."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: Name | None = None
    display_name: str | None = None
    emails: list[Email] | None = None
    active: bool | None = None


class Member(ComplexAttribute):
    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[Reference[User] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )


class Group(Resource[Any]):
    """People only: groups in groups are not kept."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[Member] | None = None


SERVED: tuple[type[Resource[Any]], ...] = (User, Group)


def config() -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=PAGE_LIMIT),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=False),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="Made on the command line: manage.py identity_provider directory",
                primary=True,
            )
        ],
        meta=Meta(resource_type="ServiceProviderConfig", location=_url("ServiceProviderConfig")),
    )


def resource_types() -> list[ResourceType]:
    found = [ResourceType.from_resource(each) for each in SERVED]
    for each in found:
        each.meta = Meta(resource_type="ResourceType", location=_url("ResourceTypes", each.id))
    return found


def schemas() -> list[Any]:
    found = [each.to_schema() for each in SERVED]
    for each in found:
        each.meta = Meta(resource_type="Schema", location=_url("Schemas", each.id))
    return found


def user_resource(row: DirectoryUser) -> User:
    told = User.model_validate(row.told)
    told.id = row.id
    told.meta = _meta("User", row)
    return told


def group_resource(row: DirectoryGroup) -> Group:
    members = [
        Member(value=each.id, ref=Reference(_url("Users", each.id)))
        for each in sorted(row.members.all(), key=lambda each: each.id)
    ]
    return Group(
        id=row.id,
        external_id=row.external_id or None,
        display_name=row.name,
        members=members or None,
        meta=_meta("Group", row),
    )


def kept(user: User) -> dict[str, Any]:
    """As the database has it: what the directory may write."""
    found: dict[str, Any] = user.model_dump()
    return {name: value for name, value in found.items() if name not in ("id", "meta")}


def address_of(user: User, provider: IdentityProvider) -> str:
    """The one that a person is found by at a sign-in, in lower case; "" if it has none of the provider's domains."""
    given = user.emails or []
    ranked: Iterable[Email] = sorted(given, key=lambda each: (not each.primary, each.type != "work"))
    for address in (*(each.value for each in ranked), user.user_name):
        text = (address or "").strip().lower()
        if text.count("@") == 1 and text.rpartition("@")[2] in provider.email_domains and len(text) <= 254:
            return text
    return ""


def _meta(kind: str, row: DirectoryUser | DirectoryGroup) -> Meta:
    return Meta(
        resource_type=kind, created=row.created_at, last_modified=row.changed_at, location=_url(f"{kind}s", row.id)
    )


def _url(*words: str | None) -> str:
    return "/".join([f"{settings.ENV.ringmaster_public_url}{PATH}", *(str(word) for word in words)])

"""Who may do what: organisations, their members and the tokens of their programs."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

from backend.accounts.states import DeletionRequestState, DeletionTarget, Held, MemberSource, Permission, Role
from backend.core import ids

_CUSTOM_HAS_ROLE = models.Q(role=Role.CUSTOM, custom_role__isnull=False) | (
    ~models.Q(role=Role.CUSTOM) & models.Q(custom_role__isnull=True)
)


class Organisation(models.Model):
    """A tenant. Everything a customer can see or change belongs to exactly one."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_organisation_id)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=63, unique=True)
    token_days_default = models.PositiveIntegerField(
        null=True, help_text="Days that API tokens live when their order does not say; null: for ever"
    )
    token_days_max = models.PositiveIntegerField(null=True, help_text="Days that they may live at most; null: for ever")
    deletes_need_two = models.BooleanField(
        default=False, db_default=False, help_text="What goes for good is deleted when a second person has confirmed it"
    )
    password_sign_in = models.BooleanField(
        default=True, db_default=True, help_text="Members may use it signed in by password; owners always may"
    )
    second_factor_required = models.BooleanField(
        default=False, db_default=False, help_text="Console sessions without a second factor get nothing of it"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person. Their role comes from a membership, never from the user row."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_user_id)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    platform_admin = models.BooleanField(
        default=False, db_default=False, help_text="Runs the installation: what is everybody's, such as images"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    # No Django admin and no Django permissions here: roles decide (states.py).
    is_staff = False
    is_superuser = False

    def __str__(self) -> str:
        return self.email


class IdentityProvider(models.Model):
    """Who says who people are (OpenID Connect). The installation's: made on the command line, used by everybody."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_identity_provider_id)
    name = models.CharField(max_length=60, help_text="On the button of the sign-in page")
    issuer = models.URLField(max_length=300, unique=True)
    client_id = models.CharField(max_length=200)
    scopes = models.CharField(max_length=200, help_text="That are asked for, separated by spaces")
    groups_claim = models.CharField(max_length=100, help_text="In which the names of a person's groups are")
    email_domains = ArrayField(
        models.CharField(max_length=253), help_text="Addresses that it may speak for, in lower case"
    )
    session_hours = models.PositiveIntegerField(help_text="How long a sign-in holds")
    second_factor = models.BooleanField(help_text="It asks everybody for a second factor, whatever its tokens say")
    ciphertext = models.BinaryField(help_text="The client's secret, sealed (backend/core/secrets.py)")
    wrapped_key = models.BinaryField()
    master_key_id = models.CharField(max_length=16)
    directory_token_hash = models.BinaryField(
        max_length=32, null=True, unique=True, help_text="Of what it tells us by SCIM; null: it tells nothing"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    disabled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), name="identity_provider_name_once")]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class ExternalIdentity(models.Model):
    """A person as a provider knows them. Found by provider and subject only, never again by address."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_external_identity_id)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="identities")
    subject = models.CharField(max_length=255)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="external_identities")
    groups = ArrayField(models.CharField(max_length=255), help_text="As of the last sign-in")
    entry = models.ForeignKey(
        "DirectoryUser",
        on_delete=models.SET_NULL,
        null=True,
        related_name="identities",
        help_text="What the provider's directory says of them goes before what a sign-in said",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    signed_in_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="external_identity_subject_once"),
            # An address that was given to somebody else must not open the account of who had it before.
            models.UniqueConstraint(fields=["provider", "user"], name="external_identity_user_once"),
        ]

    def __str__(self) -> str:
        return self.id


class DirectoryUser(models.Model):
    """A person whom a provider's directory told us of by SCIM, whether they ever came here or not."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_directory_user_id)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="directory_users")
    user_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True, help_text="Of the directory")
    email = models.CharField(
        max_length=254, blank=True, help_text="In lower case, by which they are found at a sign-in"
    )
    active = models.BooleanField()
    told = models.JSONField(help_text="The attributes as they are told back")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("provider", Lower("user_name"), name="directory_user_name_once"),
            models.UniqueConstraint(
                fields=["provider", "email"], condition=~models.Q(email=""), name="directory_user_email_once"
            ),
        ]
        indexes = [models.Index(fields=["provider", "external_id"], name="directory_user_external")]

    def __str__(self) -> str:
        return self.id


class DirectoryGroup(models.Model):
    """A group of a provider's directory, with whom it has in it."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_directory_group_id)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="directory_groups")
    name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True, help_text="Of the directory")
    members = models.ManyToManyField(DirectoryUser, related_name="groups")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "name"], name="directory_group_name_once")]

    def __str__(self) -> str:
        return self.id


class ConsoleSession(models.Model):
    """A browser that somebody signed in with. It lives as long as the row of Django's session, which has its key."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_console_session_id)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="console_sessions")
    session_key = models.CharField(max_length=40, unique=True, help_text="Of django_session; a secret")
    user_agent = models.CharField(max_length=300, blank=True, help_text="As the browser named itself")
    source_address = models.GenericIPAddressField(null=True, help_text="Where it was used from last")
    identity_provider = models.ForeignKey(
        IdentityProvider, on_delete=models.CASCADE, null=True, related_name="+", help_text="By which somebody signed in"
    )
    second_factor = models.BooleanField(
        default=False, db_default=False, help_text="As in Django's session (second_factor.PROVED)"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["user", "-id"], name="console_session_list")]

    def __str__(self) -> str:
        return self.id


class FactorSecret(models.Model):
    """Of a person's second factor, encrypted (core/secrets.py). allauth's row of the factor has its id."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    ciphertext = models.BinaryField()
    wrapped_key = models.BinaryField()
    master_key_id = models.CharField(max_length=16)

    def __str__(self) -> str:
        return f"{self.id} of {self.user_id}"


class CustomRole(models.Model):
    """A role that an organisation made: what it may do, and with which clusters."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_role_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="custom_roles")
    name = models.CharField(max_length=60)
    description = models.CharField(max_length=300, blank=True)
    permissions = ArrayField(models.CharField(max_length=32))
    tags = models.JSONField(
        null=True, help_text="Only for clusters that have one of the values of each key; null: for all"
    )
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, help_text="Nobody holds it then; old invitations still name it")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "organisation", Lower("name"), condition=models.Q(deleted_at=None), name="custom_role_name_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"

    @property
    def held(self) -> Held:
        known = frozenset(Permission(word) for word in self.permissions)
        return Held(id=self.id, name=self.name, permissions=known, tags=self.tags)


class GroupRole(models.Model):
    """People whom a provider has in a group are members of an organisation, in this role."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_group_role_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="group_roles")
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="group_roles")
    group = models.CharField(max_length=255, help_text="As the provider calls it")
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    custom_role = models.ForeignKey(CustomRole, on_delete=models.RESTRICT, null=True, related_name="group_roles")
    rank = models.PositiveIntegerField(help_text="Who is in several groups has the role of the smallest")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "provider", "group"], name="group_role_once"),
            models.CheckConstraint(condition=_CUSTOM_HAS_ROLE, name="group_role_custom_has_role"),
        ]

    def __str__(self) -> str:
        return f"{self.group} is {self.role} of {self.organisation_id}"


class Membership(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_membership_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    custom_role = models.ForeignKey(CustomRole, on_delete=models.RESTRICT, null=True, related_name="memberships")
    source = models.CharField(max_length=16, default=MemberSource.INVITATION, db_default=MemberSource.INVITATION.value)
    identity_provider = models.ForeignKey(
        IdentityProvider, on_delete=models.RESTRICT, null=True, related_name="+", help_text="Whose groups it follows"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="membership_once"),
            models.CheckConstraint(condition=models.Q(role__in=[r.value for r in Role]), name="membership_role_known"),
            models.CheckConstraint(condition=_CUSTOM_HAS_ROLE, name="membership_custom_has_role"),
            models.CheckConstraint(
                condition=models.Q(source=MemberSource.GROUPS) ^ models.Q(identity_provider__isnull=True),
                name="membership_groups_of_provider",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.organisation_id}"


class Invitation(models.Model):
    """A link, shown once, with which a person joins an organisation in a role."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_invitation_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    custom_role = models.ForeignKey(CustomRole, on_delete=models.RESTRICT, null=True, related_name="invitations")
    secret_hash = models.BinaryField(max_length=32)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="invitation_open_once",
            ),
            models.CheckConstraint(condition=_CUSTOM_HAS_ROLE, name="invitation_custom_has_role"),
        ]

    def __str__(self) -> str:
        return f"{self.email} invited to {self.organisation_id}"


class ServiceAccount(models.Model):
    """An identity that is no person: programs use its tokens, which outlive whoever made them."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_service_account_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="service_accounts")
    name = models.CharField(max_length=60)
    description = models.CharField(max_length=300, blank=True)
    contact = models.EmailField(help_text="Of whoever answers for it")
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    custom_role = models.ForeignKey(CustomRole, on_delete=models.RESTRICT, null=True, related_name="service_accounts")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    disabled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("organisation", Lower("name"), name="service_account_name_once"),
            models.CheckConstraint(condition=_CUSTOM_HAS_ROLE, name="service_account_custom_has_role"),
            models.CheckConstraint(condition=~models.Q(role=Role.OWNER), name="service_account_no_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class ApiToken(models.Model):
    """A program's key. The secret is shown once; the row keeps its SHA-256 (it is 256 random bits, no salt needed)."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_token_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="api_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="api_tokens")
    service_account = models.ForeignKey(
        ServiceAccount,
        on_delete=models.CASCADE,
        null=True,
        related_name="api_tokens",
        help_text="In the place of a user",
    )
    made_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    name = models.CharField(max_length=100)
    secret_hash = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=8, help_text="Last characters of the token, to recognise it by")
    scopes = ArrayField(models.CharField(max_length=32))
    source_ranges = ArrayField(
        models.CharField(max_length=43), default=list, db_default=[], help_text="CIDRs it may be used from; empty: any"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["organisation", "-id"], name="api_token_list")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user__isnull=True) ^ models.Q(service_account__isnull=True),
                name="api_token_of_one",
            ),
        ]

    def __str__(self) -> str:
        return self.id


_OPEN = [DeletionRequestState.PENDING.value, DeletionRequestState.CONFIRMED.value]


class DeletionRequest(models.Model):
    """One person wants something gone for good, and another one is to confirm it (second_person.py)."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_deletion_request_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="deletion_requests")
    target_type = models.CharField(max_length=16, choices=[(each.value, each.value) for each in DeletionTarget])
    target_id = models.CharField(max_length=40)
    target_name = models.CharField(max_length=100, help_text="Of a backup: of its cluster")
    cluster_id = models.CharField(max_length=40, blank=True, help_text="That it is about, or that the backup is of")
    state = models.CharField(max_length=16, default=DeletionRequestState.PENDING)
    requested_by = models.CharField(max_length=200)
    requested_by_user_id = models.CharField(max_length=40)
    confirmed_by = models.CharField(max_length=200, blank=True)
    confirmed_by_user_id = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [models.Index(fields=["organisation", "-id"], name="deletion_request_list")]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "target_type", "target_id"],
                condition=models.Q(state__in=_OPEN),
                name="deletion_request_open_once",
            ),
            models.CheckConstraint(
                condition=~models.Q(requested_by_user_id=models.F("confirmed_by_user_id")),
                name="deletion_request_of_two",
            ),
            models.CheckConstraint(
                condition=~models.Q(state=DeletionRequestState.CONFIRMED) | ~models.Q(confirmed_by_user_id=""),
                name="deletion_request_confirmed_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return self.id

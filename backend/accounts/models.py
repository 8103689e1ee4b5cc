"""Who may do what: organisations, their members and the tokens of their programs."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models

from backend.accounts.states import Role
from backend.core import ids


class Organisation(models.Model):
    """A tenant. Everything a customer can see or change belongs to exactly one."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_organisation_id)
    name = models.CharField(max_length=100)
    slug = models.SlugField(max_length=63, unique=True)
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


class Membership(models.Model):
    id = models.CharField(primary_key=True, max_length=40, default=ids.new_membership_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="membership_once"),
            models.CheckConstraint(condition=models.Q(role__in=[r.value for r in Role]), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.organisation_id}"


class Invitation(models.Model):
    """A link, shown once, with which a person joins an organisation in a role."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_invitation_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=16, choices=[(r.value, r.value) for r in Role])
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
        ]

    def __str__(self) -> str:
        return f"{self.email} invited to {self.organisation_id}"


class ApiToken(models.Model):
    """A program's key. The secret is shown once; the row keeps its SHA-256 (it is 256 random bits, no salt needed)."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.new_token_id)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="api_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    secret_hash = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=8, help_text="Last characters of the token, to recognise it by")
    scopes = ArrayField(models.CharField(max_length=32))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["organisation", "-id"], name="api_token_list")]

    def __str__(self) -> str:
        return self.id

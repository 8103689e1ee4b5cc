"""The one place that knows every provider."""

from dataclasses import dataclass
from functools import cache

from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.base import InvalidRequest, Provider
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.local.provider import LocalProvider, LocalSettings


@dataclass(frozen=True, kw_only=True)
class ProviderSettings:
    """What each provider needs; None: this installation does not offer it."""

    local: LocalSettings | None = None
    fake: FakeSettings | None = None
    aws: AwsSettings | None = None
    gcp: GcpSettings | None = None


def provider(name: str, settings: ProviderSettings) -> Provider:
    """The provider of this name. InvalidRequest when this installation does not offer it."""
    match name:
        case "local" if settings.local is not None:
            return LocalProvider(settings.local)
        case "gcp" if settings.gcp is not None:
            # Importing Google's client takes seconds: only who uses it waits for that.
            from provisioner.providers.gcp.provider import GcpProvider

            return GcpProvider(settings.gcp)
        case "aws" if settings.aws is not None:
            return _aws(settings.aws)
        case "fake" if settings.fake is not None:
            return FakeProvider(settings.fake)
        case _:
            raise InvalidRequest(f"This installation offers no provider {name!r}.")


@cache
def _aws(settings: AwsSettings) -> Provider:
    """One for all calls of a process, so that its connections and what it has just listed are used again."""
    from provisioner.providers.aws.provider import AwsProvider

    return AwsProvider(settings)

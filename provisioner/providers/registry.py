"""The one place that knows every provider."""

from dataclasses import dataclass

from provisioner.providers.base import InvalidRequest, Provider
from provisioner.providers.fake import FakeProvider, FakeSettings
from provisioner.providers.local.provider import LocalProvider, LocalSettings


@dataclass(frozen=True, kw_only=True)
class ProviderSettings:
    """What each provider needs; None: this installation does not offer it."""

    local: LocalSettings | None = None
    fake: FakeSettings | None = None


def provider(name: str, settings: ProviderSettings) -> Provider:
    """The provider of this name. InvalidRequest when this installation does not offer it."""
    match name:
        case "local" if settings.local is not None:
            return LocalProvider(settings.local)
        case "fake" if settings.fake is not None:
            return FakeProvider(settings.fake)
        case _:
            raise InvalidRequest(f"This installation offers no provider {name!r}.")

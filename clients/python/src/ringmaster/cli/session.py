"""What a command works with: the installation it speaks to, and how it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ringmaster.cli import profiles
from ringmaster.errors import NotFound, RingmasterError
from ringmaster.transport import Transport, answer_of
from ringmaster.version import __version__

TransportOf = Callable[[profiles.Profile], Transport]


def over_the_network(profile: profiles.Profile) -> Transport:
    agent = f"ringmaster-cli/{__version__}"
    return Transport(profile.url, profile.token, organisation=profile.organisation or None, agent=agent)


class Session:
    """Speaks to nobody before it is asked for something."""

    def __init__(self, profile: str | None, transport_of: TransportOf = over_the_network) -> None:
        self._profile = profile
        self._transport_of = transport_of
        self._transport: Transport | None = None

    @property
    def transport(self) -> Transport:
        """Raises RingmasterError when it is not known whom to speak to."""
        if self._transport is None:
            self._transport = self._transport_of(profiles.chosen(self._profile))
        return self._transport

    def with_profile(self, profile: profiles.Profile) -> Transport:
        """Another installation, for signing in."""
        return self._transport_of(profile)

    def get(self, path: str, query: dict[str, Any] | None = None) -> Any:
        return answer_of(self.transport.send("GET", path, query=query))

    def post(self, path: str, body: Any = None) -> Any:
        return answer_of(self.transport.send("POST", path, body=body))

    def cluster_id(self, word: str) -> str:
        """The id of a cluster that is called so; ids stay as they are. Raises NotFound."""
        if word.startswith("clu_"):
            return word
        found = self.get("/api/v1/clusters", {"name": word})["items"]
        if not found:
            hint = "`ringmaster clusters list` shows those that you may see."
            detail = {"code": "not_found", "message": f"There is no cluster {word}.", "hint": hint}
            raise NotFound(404, detail)
        return str(found[0]["id"])

    def cluster_names(self, beginning: str) -> list[str]:
        """For completion: nothing when it cannot be asked."""
        try:
            items = self.get("/api/v1/clusters", {"limit": 200})["items"]
        except RingmasterError:
            return []
        return [str(one["name"]) for one in items if str(one["name"]).startswith(beginning)]

"""One request as a handler sees it, and the answers that all collections give alike."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from google.cloud import compute_v1

from provisioner.providers.gcp_emulator.errors import invalid
from provisioner.providers.gcp_emulator.faults import Fault
from provisioner.providers.gcp_emulator.filters import conditions, matches
from provisioner.providers.gcp_emulator.geography import REGIONS, ZONES
from provisioner.providers.gcp_emulator.world import World

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Call:
    """`body` is of the client's own message type; `sent` is the same as it came, to tell what was left out."""

    world: World
    parts: dict[str, str]
    query: dict[str, str]
    body: Any = None
    sent: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def scope(self) -> str:
        if "zone" in self.parts:
            return f"zones/{self.parts['zone']}"
        return f"regions/{self.parts['region']}" if "region" in self.parts else "global"

    @property
    def request_id(self) -> str:
        return self.query.get("requestId", "")

    def operate(
        self,
        kind: str,
        path: str,
        *,
        effect: Callable[[], None],
        fail: Callable[[], None] = lambda: None,
        error: tuple[str, str] | None = None,
    ) -> compute_v1.Operation:
        return self.world.operate(
            kind=kind,
            path=path,
            scope=self.scope,
            request=self.request_id,
            faults=self.faults,
            effect=effect,
            fail=fail,
            error=error,
        )

    def check_place(self) -> None:
        if (zone := self.parts.get("zone")) is not None and zone not in ZONES:
            raise invalid(f"Invalid value for field 'zone': '{zone}'. Unknown zone.")
        if (region := self.parts.get("region")) is not None and region not in REGIONS:
            raise invalid(f"Invalid value for field 'region': '{region}'. Unknown region.")

    def page(self, items: Iterable[Any]) -> tuple[list[Any], str | None]:
        """Those that the filter lets through, a page of them, and the next page's token; None: it was the last."""
        wanted = conditions(self.query.get("filter", ""))
        found = [item for item in items if matches(wanted, item)]
        size = min(int(self.query.get("maxResults", self.world.page_size)), self.world.page_size)
        first = int(self.query.get("pageToken") or 0)
        following = str(first + size) if first + size < len(found) else None
        return found[first : first + size], following


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise invalid(f"Invalid value for field 'resource.name': '{name}'. Must match regex '{_NAME.pattern}'")


def check_labels(labels: Iterable[tuple[str, str]]) -> None:
    for key, value in labels:
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise invalid(f"Invalid value for field 'resource.labels': '{key}: {value}'. Invalid label.")

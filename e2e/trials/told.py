"""What the API tells of a table over a time that is one point of its charts."""

import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx

_SCRAPE_SECONDS = 15
_SPARE_SECONDS = 3.0


@dataclass(frozen=True)
class Span:
    """From `begins` for `seconds`, a multiple of fifteen: a point of a chart with this step ends there.

    What happens in the middle of it is counted, whole: between two scrapes that are in it for certain.
    """

    begins: int
    seconds: int

    @property
    def work_seconds(self) -> float:
        """How long that may take which is to be counted whole."""
        return self.seconds - 2 * (_SCRAPE_SECONDS + _SPARE_SECONDS)

    def wait(self) -> None:
        """Returns when what is to be counted may begin."""
        time.sleep(max(0.0, self.begins + _SCRAPE_SECONDS + _SPARE_SECONDS - time.time()))

    def told(
        self, api: httpx.Client, cluster: str, table: tuple[str, str], charts: list[str]
    ) -> dict[str, float | None]:
        """Values by `CHART LINE`; waits until the span is over. `CHART` alone where the line has no name."""
        end = self.begins + self.seconds
        time.sleep(max(0.0, end + _SPARE_SECONDS - time.time()))
        answer = api.get(
            f"/clusters/{cluster}/tables/{table[0]}/{table[1]}/metrics",
            params={"from": _word(self.begins), "to": _word(end), "step": self.seconds, "chart": charts},
        )
        found = answer.raise_for_status().json()
        place = found["times"].index(end)
        return {
            f"{chart['id']} {line['name']}".strip(): line["values"][place]
            for chart in found["charts"]
            for line in chart["series"]
        }


def next_span(seconds: int) -> Span:
    """The next one of this length that has not begun: points lie at multiples of the step."""
    return Span(math.ceil(time.time() / seconds) * seconds, seconds)


def _word(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()

"""What benchmarks of changes have in common: pairs of runs, ours and bare in turn, and the line of figures."""

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

SIDES = ("both", "ours", "bare")


@dataclass
class Figures:
    """Seconds of each run of both sides."""

    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    def run(self, pairs: int, ours: Callable[[], float] | None, bare: Callable[[], float] | None) -> None:
        """So many runs of each side; which of the two goes first changes with every pair."""
        for number in range(1, pairs + 1):
            sides = [(self.ours, ours), (self.bare, bare)]
            for figures, measure in sides if number % 2 else reversed(sides):
                if measure is not None:
                    figures.append(measure())
            print(f"pair {number}: ours {_last(self.ours)}, bare {_last(self.bare)}", flush=True)

    def tell(self, name: str, *, most_ratio: float, notes: str, good: bool = True) -> int:
        """Print the line of figures (medians). The exit code: 1 when the ratio is above `most_ratio` or not `good`."""
        ours, bare = _median(self.ours), _median(self.bare)
        ratio = ours / bare if ours and bare else None
        document = {
            "name": name,
            "ours": ours and round(ours, 2),
            "other": bare and round(bare, 2),
            "unit": "s",
            "ratio": ratio and round(ratio, 3),
            "runs": max(len(self.ours), len(self.bare)),
            "notes": f"{notes}; ours {_range(self.ours)}, bare {_range(self.bare)}",
        }
        print(json.dumps(document))
        return 0 if good and (ratio is None or ratio <= most_ratio) else 1


def parser(description: str, *, pairs: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description.partition("\n")[0])
    made.add_argument("--pairs", type=int, default=pairs)
    made.add_argument("--side", choices=SIDES, default="both", help="one side alone has no ratio")
    return made


def _last(seconds: list[float]) -> str:
    return f"{seconds[-1]:.2f} s" if seconds else "not run"


def _median(seconds: list[float]) -> float | None:
    return statistics.median(seconds) if seconds else None


def _range(seconds: list[float]) -> str:
    return f"{min(seconds):.2f}-{max(seconds):.2f}" if seconds else "not run"

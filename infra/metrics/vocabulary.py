"""What is made of the vocabulary of metrics: the copy that the backend reads, and the tables in docs/metrics.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "images" / "agent" / "metrics" / "vocabulary.json"
BACKEND = ROOT / "backend" / "metrics" / "vocabulary.json"
DOCUMENT = ROOT / "docs" / "metrics.md"

_BEGIN = "<!-- Made by `make generate` from images/agent/metrics/vocabulary.json. -->\n"
_END = "<!-- End of what is made. -->\n"
_SCOPES = {"table": "Tables", "node": "Nodes", "agent": "The agent itself"}


def main() -> int:
    text = SOURCE.read_text()
    BACKEND.write_text(text)
    before, _, rest = DOCUMENT.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    DOCUMENT.write_text(before + _BEGIN + tables(json.loads(text)) + _END + after)
    return 0


def tables(vocabulary: dict[str, Any]) -> str:
    """A heading and a table for each scope, as Markdown."""
    parts = []
    for scope, title in _SCOPES.items():
        parts.append(f"\n### {title}\n\n| name | type, unit | what | Cassandra | ScyllaDB |\n|---|---|---|---|---|\n")
        parts += [_row(metric) for metric in vocabulary["metrics"] if metric["scope"] == scope]
    return "".join(parts) + "\n"


def _row(metric: dict[str, Any]) -> str:
    # The table's own labels are those of all in their table.
    labels = [label for label in metric["labels"] if label not in ("keyspace", "table")]
    name = f"`{metric['name']}{'{' + ','.join(labels) + '}' if labels else ''}`"
    what = metric["help"] + (f" Left out: {metric['optional']}." if "optional" in metric else "")
    cells = (name, f"{metric['type']}, {metric['unit']}", what, _source(metric["cassandra"]), _source(metric["scylla"]))
    return f"| {' | '.join(cells)} |\n"


def _source(said: str | dict[str, str]) -> str:
    return f"— {said['none']}" if isinstance(said, dict) else said


if __name__ == "__main__":
    raise SystemExit(main())

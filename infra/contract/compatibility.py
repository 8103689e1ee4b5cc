"""Which changes of backend/openapi.json break programs that were written for the released one.

What breaks is judged by oasdiff (https://github.com/oasdiff/oasdiff), which knows OpenAPI 3.1: a removed operation,
parameter or field, a parameter or field that is newly required, a narrower type or limit of what is sent, an answer's
field that may be missing. New operations, optional parameters and fields of answers are none.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

OASDIFF = "github.com/oasdiff/oasdiff@v1.35.0"
HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
NOW = CHECKOUT / "backend" / "openapi.json"
RELEASED = HERE / "released.json"
ACCEPTED = HERE / "accepted.txt"
# Enumerations in answers are open (docs/api.md): clients keep words that they do not know.
_OPEN = ("response-property-enum-value-added", "response-body-enum-value-added")
WHAT_TO_DO = (
    "Keep the old beside the new and mark it deprecated. What must break all the same goes into "
    "infra/contract/accepted.txt, with its reason, and into CHANGELOG.md.\n"
)


def breaks(released: Path = RELEASED, now: Path = NOW, accepted: Path = ACCEPTED) -> list[str]:
    """One line for each break that nobody accepted. Raises RuntimeError when oasdiff does not run."""
    done = subprocess.run(
        [
            *("go", "run", OASDIFF, "breaking", str(released), str(now)),
            *("--format", "json", "--err-ignore", str(accepted), "--warn-ignore", str(accepted)),
        ],
        capture_output=True,
        text=True,
        cwd=HERE,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise RuntimeError(f"oasdiff: {done.stdout}{done.stderr}".strip())
    return sorted(
        f"{one['operation']} {one['path']}: {one['text']} [{one['id']}]"
        for one in json.loads(done.stdout or "[]")
        if not one["id"].endswith(_OPEN)
    )


def without_reason(accepted: Path = ACCEPTED) -> list[str]:
    """Accepted breaks that no comment stands above."""
    complaints, explained = [], False
    for line in accepted.read_text().splitlines():
        if not line.strip():
            explained = False
        elif line.startswith("#"):
            explained = True
        elif not explained:
            complaints.append(f"{accepted.name}: no reason stands above: {line}")
    return complaints


def release() -> None:
    """Makes today's description the released one. Nothing is accepted any more."""
    RELEASED.write_text(json.dumps(json.loads(NOW.read_text()), sort_keys=True, separators=(",", ":")) + "\n")
    text = ACCEPTED.read_text()
    ACCEPTED.write_text(text[: text.index("\n\n") + 1] if "\n\n" in text else text)
